#include "tests/simulation/gate_grid.h"

#include <cmath>

#include "harness/stats/estimators.h"
#include "harness/stats/gate_plan.h"
#include "tests/simulation/parallel.h"
#include "tests/simulation/subject.h"

namespace abba::simulation {
namespace {

constexpr std::uint64_t kRunsForSd = 1000;
constexpr std::uint64_t kCellStride = 10;  // seeds of one model: sd, null, effect

using Plans = std::array<stats::GatePlan, kJobSizes.size()>;

const Plans& plans() {
  static const Plans made = {stats::gate_plan(kJobSizes[0]), stats::gate_plan(kJobSizes[1]),
                             stats::gate_plan(kJobSizes[2])};
  return made;
}

// One workload: 6 passes to screen, then the confirm passes of the largest job, of which smaller
// jobs use the first. All are simulated always, so that both looks can be counted apart.
void add_run(const NoiseModel& model, double effect, std::uint64_t seed, GateCounts& counts) {
  Machine machine(model, seed);
  base::Random orders(~seed);
  const std::vector<double> first =
      simulate_pass_values(machine, orders, stats::kScreenPasses, effect);
  const std::vector<double> second =
      simulate_pass_values(machine, orders, plans().back().confirm_passes, effect);
  const bool suspicious = stats::screen(plans()[0], first) == stats::GateColour::kSuspicious;
  const double sd = stats::standard_deviation(second);
  ++counts.runs;
  counts.variance_sum += sd * sd;
  counts.screened += suspicious ? 1 : 0;
  for (std::size_t i = 0; i < plans().size(); ++i) {
    const std::vector<double> values(second.begin(), second.begin() + plans()[i].confirm_passes);
    if (stats::confirm(plans()[i], values) == stats::GateColour::kRed) {
      ++counts.confirmed[i];
      counts.red[i] += suspicious ? 1 : 0;
    }
  }
}

GateCounts run_all(const NoiseModel& model, double effect, std::uint64_t number, std::uint64_t runs,
                   int threads) {
  return sum_over<GateCounts>(runs, threads, [&](std::uint64_t index, GateCounts& counts) {
    add_run(model, effect, seed_of(number, index), counts);
  });
}

}  // namespace

void GateCounts::merge(const GateCounts& other) {
  runs += other.runs;
  screened += other.screened;
  variance_sum += other.variance_sum;
  for (std::size_t i = 0; i < red.size(); ++i) {
    confirmed[i] += other.confirmed[i];
    red[i] += other.red[i];
  }
}

double GateRow::false_red_per_job(std::size_t size) const {
  const auto runs = static_cast<double>(null.runs);
  return kJobSizes[size] * (static_cast<double>(null.screened) / runs) *
         (static_cast<double>(null.confirmed[size]) / runs);
}

GateRow gate_row(const NoiseModel& model, std::uint64_t number, std::uint64_t null_runs,
                 std::uint64_t effect_runs, int threads) {
  GateRow row;
  row.model = &model;
  const GateCounts sample = run_all(model, 0, number * kCellStride, kRunsForSd, threads);
  row.pass_sd = std::sqrt(sample.variance_sum / static_cast<double>(sample.runs));
  row.null = run_all(model, 0, number * kCellStride + 1, null_runs, threads);
  row.effect = run_all(model, stats::kGateEffect * row.pass_sd, number * kCellStride + 2,
                       effect_runs, threads);
  return row;
}

}  // namespace abba::simulation
