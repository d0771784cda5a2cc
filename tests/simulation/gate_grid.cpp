#include "tests/simulation/gate_grid.h"

#include <cmath>

#include "harness/stats/distributions.h"
#include "harness/stats/estimators.h"
#include "harness/stats/gate_plan.h"
#include "tests/simulation/parallel.h"
#include "tests/simulation/subject.h"

namespace abba::simulation {
namespace {

constexpr std::uint64_t kCellStride = 10;  // seeds of one model: null, effect

using Plans = std::array<stats::GatePlan, kJobSizes.size()>;

const Plans& plans() {
  static const Plans made = {stats::gate_plan(kJobSizes[0]), stats::gate_plan(kJobSizes[1]),
                             stats::gate_plan(kJobSizes[2])};
  return made;
}

using Reds = std::array<bool, kJobSizes.size()>;

// Which sizes of job confirm on the machine as it stands: the passes are those of the largest job,
// of which smaller jobs use the first.
Reds confirmations(Machine machine, base::Random& orders, double effect) {
  const std::vector<double> passes =
      simulate_pass_values(machine, orders, plans().back().confirm_passes, effect);
  Reds reds{};
  for (std::size_t i = 0; i < plans().size(); ++i) {
    const std::vector<double> values(passes.begin(), passes.begin() + plans()[i].confirm_passes);
    reds[i] = stats::confirm(plans()[i], values) == stats::GateColour::kRed;
  }
  return reds;
}

// One workload: a screen and, if it is suspicious, its futures.
void add_run(const NoiseModel& model, double effect, std::uint64_t seed, int futures,
             GateCounts& counts) {
  Machine machine(model, seed);
  base::Random orders(~seed);
  const std::vector<double> screen =
      simulate_pass_values(machine, orders, stats::kScreenPasses, effect);
  const double sd = stats::standard_deviation(screen);
  ++counts.runs;
  counts.variance_sum += sd * sd;
  if (stats::screen(plans()[0], screen) != stats::GateColour::kSuspicious) {
    return;
  }
  ++counts.screened;
  std::array<std::int64_t, kJobSizes.size()> reds{};
  for (int f = 0; f < futures; ++f) {
    const auto of_future = static_cast<std::uint64_t>(f);
    const Reds here = confirmations(machine.future(seed_of(seed, of_future)), orders, effect);
    for (std::size_t i = 0; i < reds.size(); ++i) {
      reds[i] += here[i] ? 1 : 0;
      counts.red[i] += f == 0 && here[i] ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < reds.size(); ++i) {
    counts.future_red[i] += reds[i];
    counts.future_red_squares[i] += reds[i] * reds[i];
  }
}

GateCounts run_all(const NoiseModel& model, double effect, std::uint64_t number, std::uint64_t runs,
                   int futures, int threads) {
  return sum_over<GateCounts>(runs, threads, [&](std::uint64_t index, GateCounts& counts) {
    add_run(model, effect, seed_of(number, index), futures, counts);
  });
}

record::Interval times(record::Interval interval, double factor) {
  return {factor * interval.low, factor * interval.high, interval.level};
}

}  // namespace

void GateCounts::merge(const GateCounts& other) {
  runs += other.runs;
  screened += other.screened;
  variance_sum += other.variance_sum;
  for (std::size_t i = 0; i < red.size(); ++i) {
    red[i] += other.red[i];
    future_red[i] += other.future_red[i];
    future_red_squares[i] += other.future_red_squares[i];
  }
}

double GateRow::false_red_per_job(std::size_t size) const {
  return kJobSizes[size] * static_cast<double>(null.future_red[size]) /
         (static_cast<double>(null.runs) * futures);
}

record::Interval GateRow::false_red_limits(std::size_t size) const {
  const auto count = static_cast<double>(null.future_red[size]);
  // Counts that come in clusters vary as if there were fewer of them, by this factor.
  const double cluster = count > 0 ? static_cast<double>(null.future_red_squares[size]) / count : 1;
  const double pairs = static_cast<double>(null.runs) * futures;
  return times(stats::proportion_interval(std::llround(count / cluster),
                                          std::llround(pairs / cluster), 0.95),
               kJobSizes[size]);
}

double GateRow::plain_false_red_per_job(std::size_t size) const {
  return kJobSizes[size] * static_cast<double>(null.red[size]) / static_cast<double>(null.runs);
}

record::Interval GateRow::plain_limits(std::size_t size, double level) const {
  return times(stats::proportion_interval(null.red[size], null.runs, level), kJobSizes[size]);
}

GateRow gate_row(const NoiseModel& model, std::uint64_t number, const GateSize& size, int threads) {
  GateRow row;
  row.model = &model;
  row.futures = size.futures;
  row.null = run_all(model, 0, number * kCellStride + 1, size.null_runs, size.futures, threads);
  row.pass_sd = std::sqrt(row.null.variance_sum / static_cast<double>(row.null.runs));
  row.effect = run_all(model, stats::kGateEffect * row.pass_sd, number * kCellStride + 2,
                       size.effect_runs, 1, threads);
  return row;
}

}  // namespace abba::simulation
