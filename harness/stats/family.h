// How the error of a run is shared: over the looks of the plan (equal shares, Bonferroni: with
// looks at 6 and 12 each gets 2.5 % of 5 %) and over the workloads of a family (Holm 1979).
#pragma once

#include <vector>

#include "harness/record/run_record.h"

namespace abba::stats {

inline constexpr int kFewestPasses = 6;  // for any of the five words

struct LookPlan {
  std::vector<int> looks;  // ascending pass counts; the last is the whole plan
  double look_alpha = 0;   // of each look
};

// The looks that the plan declares, else those of the manifest, else its pass count alone. A
// confidence outside (0, 1) counts as 0.95.
[[nodiscard]] LookPlan look_plan(const record::RunRecord& run);

// The run is judged by the seeds' rule, disjoint pass means: it has no level to share.
[[nodiscard]] bool judged_by_disjoint_means(const record::RunRecord& run);

struct HolmRow {
  double alpha = 0;  // the level this hypothesis was tested at, or testing stopped at
  bool rejected = false;
};

// Step-down: the k-th smallest p (k from 0) is tested at alpha / (m - k) until one is kept. A
// negative or NaN p is never rejected but counts in m. Ties keep the order given.
[[nodiscard]] std::vector<HolmRow> holm(const std::vector<double>& p_values, double alpha);

struct BenjaminiHochbergRow {
  double adjusted = -1;  // the smallest rate at which this one would be rejected; -1 = unusable p
  bool rejected = false;
};

// Step-up control of the false discovery rate (Benjamini and Hochberg 1995), for exploratory
// tables: of the rejected, at most the share `rate` is false on average. A negative or NaN p is
// never rejected but counts in m, as in `holm`.
[[nodiscard]] std::vector<BenjaminiHochbergRow> benjamini_hochberg(
    const std::vector<double>& p_values, double rate);

}  // namespace abba::stats
