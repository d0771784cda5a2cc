// Cells of the grid: one noise model, one effect, one plan, many replicates, each judged by the
// harness's own analysis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/verdict.h"
#include "tests/simulation/noise.h"

namespace abba::simulation {

struct CellCounts {
  std::int64_t runs = 0;
  std::int64_t detected = 0;  // Student t on all planned passes, two-sided 5 %
  std::int64_t covered = 0;   // its 95 % interval holds the true effect
  std::int64_t pooled = 0;    // the canary: Welch's t on pooled requests, 5 %
  // After the looks of the plan:
  std::int64_t passes = 0;
  std::int64_t better = 0;  // improved, faster, or ranges disjoint with B below
  std::int64_t worse = 0;
  std::int64_t equivalent = 0;
  std::int64_t invalid = 0;
  double variance_sum = 0;  // of the pass values
  void merge(const CellCounts& other);
};

struct Cell {
  const NoiseModel* model = nullptr;
  std::string plan;         // "two-pass", "standard", "quick"
  std::string claim;        // as in a manifest
  double effect_share = 0;  // B slower by this fraction
  CellCounts counts;
  [[nodiscard]] double pass_sd() const;
};

// Runs `replicates` of the cell; its seeds come from `number`.
void fill(Cell& cell, std::uint64_t number, std::uint64_t replicates, int threads);

// Power of the same t-test by theory: noncentral t, the pass sd as seen in `cell`.
[[nodiscard]] double theory(const Cell& cell, int passes);

// Share of `draws` sets of normal pass values in which a look of the plan rejects, each at 5 % over
// the number of looks: what the looks cost, without the rest of the verdict rule.
[[nodiscard]] double theory_with_looks(double effect_in_sd, const std::vector<int>& looks,
                                       int draws, int threads);

}  // namespace abba::simulation
