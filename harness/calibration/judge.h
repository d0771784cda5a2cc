// What the harness says of runs whose truth is known, counted: the numbers of a calibration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/calibration/series.h"
#include "harness/record/verdict.h"

namespace abba::calibration {

struct Judged {
  record::Word word = record::Word::kInvalid;
  std::string reason;
  double effect = 0;  // B/A - 1
  double pass_sd = 0;
  record::Interval plain95;
  int passes = 0;
  bool same_hash = false;  // the law applied
  [[nodiscard]] bool directional() const {
    return word == record::Word::kImproved || word == record::Word::kRegressed;
  }
};

// The verdict of the primary workload as a registered run with these looks would have given it: at
// the first look that decides, else at the last. `looks` beyond the passes there are leave, and the
// number of passes itself is a look if none is left.
[[nodiscard]] Judged judge_at_looks(record::RunRecord run, const std::vector<int>& looks,
                                    record::Claim claim, bool law);

// A count with the bounds it must lie in.
struct Check {
  std::string name;
  std::string what;  // one sentence of what was counted
  int count = 0;
  int of = 0;
  int least = 0;
  int most = 0;
  [[nodiscard]] bool holds() const { return count >= least && count <= most; }
};

struct StoredSeries {
  Series series;
  std::vector<record::RunRecord> runs;  // finished ones, all read
};

struct SeriesResult {
  std::string name;
  std::string what;
  double effect = 0;  // true
  int runs = 0;       // that were judged
  int wanted = 0;     // that the calibration plans
  int found = 0;      // said the direction that is there (regressed)
  int opposite = 0;   // said the other one
  int invalid = 0;
  int covered = 0;      // plain 95 % intervals that hold the true effect
  double estimate = 0;  // mean of the effects seen
  double pass_sd = 0;   // root mean square over runs, log scale
};

struct Result {
  double harm_limit = 0;
  double pass_sd = 0;  // of the A/A runs, log scale
  std::vector<Check> checks;
  std::vector<SeriesResult> series;
  [[nodiscard]] bool holds() const;
  [[nodiscard]] const Check* check(const std::string& name) const;
};

inline constexpr std::uint64_t kSeed = 1;
inline constexpr int kIntervals = 200;  // of (a)
inline constexpr int kVerdicts = 59;    // of (b) and (c)

// All counts. The first of `stored` is the A/A series and holds at least one run; `looks` are those
// of the manifest (standard: 6 and 12).
[[nodiscard]] Result judge_all(const std::vector<StoredSeries>& stored,
                               const std::vector<int>& looks, double harm_limit);

}  // namespace abba::calibration
