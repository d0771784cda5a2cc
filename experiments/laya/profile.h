// Where the time of a forward pass goes: every operation that a request really runs, at its real
// shapes and with its real weights, timed in a pipelined batch and multiplied by its call count;
// what is left beside the measured request; and what the host pays to start a launch. Operations
// that another choice of levels would run can be timed beside them, with a count of zero.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "experiments/laya/engine_backend.h"
#include "experiments/laya/recording_backend.h"

namespace abba::laya {

struct ProfileRow {
  std::string op;
  std::string shape;
  std::int64_t calls = 0;     // in one request; 0 = run under other levels only
  std::int64_t launches = 0;  // of one call, as the backend counts them
  double call_ns = 0;         // device time of one, best of five
  double host_ns = 0;         // to start one, best of five
  double total_ns = 0;        // calls * call_ns
  ops::Work work;             // of one call
  bool waits = false;         // a transfer: host wall time instead of device time
};

struct ProfileTotals {
  double model_ns = 0;    // median wall time of a whole request
  double encoder_ns = 0;  // of its encoder boundary
  double queued_ns = 0;   // device time of all its operations queued back to back, transfers apart
  double issue_ns = 0;    // host time to start them
  std::int64_t launches = 0;
  int requests = 0;  // measured
};

struct Profile {
  ProfileTotals totals;
  std::vector<ProfileRow> rows;  // by total, largest first; then those with a count of zero
};

// Groups equal calls and times each group: all its instances in turn, so that weights come from
// where they come from in a request, as often as fits `most_launches`, best of five.
std::vector<ProfileRow> time_calls(const std::vector<RecordedCall>& calls, ops::Backend& backend,
                                   const DeviceTimer& timer, std::int64_t most_launches);

// Rows of `other` that no row of `rows` has, with a count of zero.
void add_reference_rows(std::vector<ProfileRow>& rows, const std::vector<ProfileRow>& other);

base::Json profile_json(const Profile& profile, const base::Json& facts);
std::string profile_markdown(const Profile& profile, const base::Json& facts);

}  // namespace abba::laya
