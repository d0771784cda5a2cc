// What a calibration measures for real: series of runs of one A/A manifest, each with a known
// effect (or none) that the workers inject.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "harness/record/run_record.h"

namespace abba::calibration {

enum class Role {
  kEqual,        // nothing injected: the passes that are relabelled
  kKnownEffect,  // B is slower by a known amount
  kAveragesOut,  // a disturbance of both arms that a balanced order must cancel
  kHiddenDelay   // B is slower and the judge is not told: must break the test of false verdicts
};

struct Series {
  std::string name;  // also the folder of its runs
  std::string what;  // for people
  Role role = Role::kEqual;
  base::Json inject_a;  // the worker kit's `inject`, or null
  base::Json inject_b;
  double effect = 0;  // true B/A - 1
  int runs = 0;
  double share_found = 0;  // of the runs there are, for the calibration to hold; 0 = only told
};

// What the first A/A run tells about one request, which absolute delays are made of.
struct Request {
  double median_ns = 0;
  double of_a_worker = 0;  // requests that one worker answers in a pass, warm-ups included
};
[[nodiscard]] Request request_of(const record::RunRecord& run);

struct SeriesOptions {
  double harm_limit = 0.05;
  double effect = 0.02;    // the spin that must be found
  int runs = 20;           // of the A/A series and of that spin; the others have fewer
  bool quick = false;      // two A/A runs and one of the rest, to see that everything works
  bool on_device = false;  // spins run on the GPU
};

// The spins that are measured, as fractions of a request's time.
inline constexpr std::array<double, 4> kSpins = {0.02, 0.01, 0.005, 0.0025};

// In the order in which they are run: nothing, the spin that must be found, the other spins, a
// constant delay, a delay in the first position of a block only, a linear drift, a hidden delay.
// Throws Error(kBadInput) if options.effect is none of kSpins.
[[nodiscard]] std::vector<Series> all_series(const SeriesOptions& options, const Request& request);

// The A/A series alone, which needs no Request.
[[nodiscard]] Series equal_series(const SeriesOptions& options);

// `base` (a manifest as JSON, of equal arms) as the manifest of one series. The A/A series has one
// look, at its end, so that every one of its runs holds all passes; so has the hidden delay. A
// known effect is judged by its direction and claims `faster`, so that no look ends it as
// equivalent.
[[nodiscard]] base::Json manifest_of(const base::Json& base, const Series& series, int passes);

}  // namespace abba::calibration
