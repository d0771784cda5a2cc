// The hierarchical bootstrap: passes, in each its blocks, in each slot its requests, all drawn with
// replacement. It serves quantiles and pictures: with few passes its percentile limits are too
// narrow (in the simulations behind the design 14.5 % false positives at 6 passes for a nominal 5),
// so they decide nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"
#include "harness/stats/measured.h"

namespace abba::stats {

inline constexpr int kFewestPassesForPercentiles = 20;

struct BootstrapSlot {
  bool is_b = false;
  std::vector<double> sorted;  // log values, ascending
};
using BootstrapBlock = std::vector<BootstrapSlot>;  // at least one slot of each arm
using BootstrapPass = std::vector<BootstrapBlock>;

struct BootstrapOptions {
  int resamples = 10'000;
  double quantile = 0.5;  // of each slot; type 7
  double level = 0.95;
  std::uint64_t seed = 1;
  int threads = 2;  // changes nothing but the time
};

struct Bootstrap {
  double estimate = 0;          // mean over passes of Hodges-Lehmann over blocks, log B/A
  std::vector<double> effects;  // of the resamples, ascending; empty = not estimable
  record::Interval percentile;
  // estimate +- t(P-1) sd sqrt(P/(P-1)): what keeps its level with few passes.
  record::Interval rescaled;
  bool percentile_may_decide = false;  // from kFewestPassesForPercentiles passes on
};

// Not estimable (nothing but `estimate` where that exists) below two passes, with an empty pass,
// slot or arm, with a value that is not finite, or options out of range.
[[nodiscard]] Bootstrap hierarchical_bootstrap(const std::vector<BootstrapPass>& passes,
                                               const BootstrapOptions& options = {});

// The log values of the clean blocks of `workload`, for the function above. Blocks without usable
// values in a slot are left out.
[[nodiscard]] std::vector<BootstrapPass> bootstrap_passes(
    const std::vector<const record::Pass*>& passes, const std::string& workload,
    const Measure& measure);

}  // namespace abba::stats
