// The gate's plan in simulation: false red per job without an effect, detection at two pass-sd.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/simulation/noise.h"

namespace abba::simulation {

inline constexpr std::array<int, 3> kJobSizes = {1, 5, 20};  // workloads

struct GateCounts {
  std::int64_t runs = 0;
  std::int64_t screened = 0;                // suspicious after the screen
  std::array<std::int64_t, 3> confirmed{};  // would be confirmed, screened or not
  std::array<std::int64_t, 3> red{};        // both
  double variance_sum = 0;
  void merge(const GateCounts& other);
};

struct GateRow {
  const NoiseModel* model = nullptr;
  double pass_sd = 0;
  GateCounts null;    // no effect
  GateCounts effect;  // B slower by two pass-sd
  // At most: workloads x share screened in x share confirmed. The two looks share no pass and no
  // process; `red` counts them together.
  [[nodiscard]] double false_red_per_job(std::size_t size) const;
};

[[nodiscard]] GateRow gate_row(const NoiseModel& model, std::uint64_t number,
                               std::uint64_t null_runs, std::uint64_t effect_runs, int threads);

}  // namespace abba::simulation
