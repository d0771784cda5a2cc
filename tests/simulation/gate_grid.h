// The gate's plan in simulation: false red per job without an effect, detection at two pass-sd.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "harness/record/verdict.h"
#include "tests/simulation/noise.h"

namespace abba::simulation {

inline constexpr std::array<int, 3> kJobSizes = {1, 5, 20};  // workloads

// How much of the gate is simulated for each noise model.
struct GateSize {
  std::uint64_t null_runs = 0;
  // Confirmations of each suspicious run without an effect, each on the machine as the screen left
  // it and with draws of its own. A red job is rare because a suspicious screen is and because its
  // confirmation is: many futures make up for the second, and take nothing as independent that the
  // machine may carry from one look into the next.
  int futures = 1;
  std::uint64_t effect_runs = 0;  // one confirmation each
};

struct GateCounts {
  std::int64_t runs = 0;
  std::int64_t screened = 0;  // suspicious after the screen
  // By size of the job, among the screened: red with their first future (as a gate would see it),
  // and red in any future, with the sum of squares over screens.
  std::array<std::int64_t, 3> red{};
  std::array<std::int64_t, 3> future_red{};
  std::array<std::int64_t, 3> future_red_squares{};
  double variance_sum = 0;  // of the screens' pass values
  void merge(const GateCounts& other);
};

struct GateRow {
  const NoiseModel* model = nullptr;
  double pass_sd = 0;
  int futures = 1;
  GateCounts null;    // no effect
  GateCounts effect;  // B slower by two pass-sd
  // False red per job, at most: workloads x share of (run, future) pairs that are red. However much
  // workloads move together, a job of m is red at most m times as often as one.
  [[nodiscard]] double false_red_per_job(std::size_t size) const;
  // Its exact 95 % limits, wider where futures of one screen agree.
  [[nodiscard]] record::Interval false_red_limits(std::size_t size) const;
  // The same from first futures alone: a plain count of simulated gates, too few to judge by.
  [[nodiscard]] double plain_false_red_per_job(std::size_t size) const;
  // Exact limits of the plain count at `level`.
  [[nodiscard]] record::Interval plain_limits(std::size_t size, double level) const;
};

[[nodiscard]] GateRow gate_row(const NoiseModel& model, std::uint64_t number, const GateSize& size,
                               int threads);

}  // namespace abba::simulation
