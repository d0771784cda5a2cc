// What is simulated, and what is required of it.
#include "tests/simulation/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "harness/stats/distributions.h"
#include "harness/stats/gate_plan.h"
#include "tests/simulation/subject.h"

namespace abba::simulation {
namespace {

constexpr double kMostFalsePositives = 0.07;  // at nominal 5 %
constexpr double kLeastCoverage = 0.93;
constexpr double kPowerPoints = 0.03;

// A share seen, and whether it keeps a limit.
struct Share {
  std::int64_t count = 0;
  std::int64_t of = 0;
  [[nodiscard]] double value() const { return static_cast<double>(count) / double(of); }
  [[nodiscard]] record::Interval interval() const {
    return stats::proportion_interval(count, of, 0.95);
  }
  [[nodiscard]] bool at_most(double limit, bool full) const {
    return (full ? value() : interval().low) <= limit;
  }
  [[nodiscard]] bool at_least(double limit, bool full) const {
    return (full ? value() : interval().high) >= limit;
  }
};

bool judged(const Cell& cell) {  // two-pass makes no verdict and has no pass-level test
  return cell.plan != "two-pass";
}

Share false_positives(const Cell& cell) {
  return {cell.counts.detected, cell.counts.runs};
}
Share false_verdicts(const Cell& cell) {
  return {cell.counts.better + cell.counts.worse, cell.counts.runs};
}
Share coverage(const Cell& cell) {
  return {cell.counts.covered, cell.counts.runs};
}
Share said_equivalent(const Cell& cell) {
  return {cell.counts.equivalent, cell.counts.runs};
}
Share pooled(const Cell& cell) {
  return {cell.counts.pooled, cell.counts.runs};
}

int passes_of(const std::string& plan) {
  return plan == "standard" ? 12 : plan == "quick" ? 6 : 2;
}

// The worst cell by `share`: the largest if `largest`, else the smallest.
template <typename Keep, typename Of>
Requirement worst(const std::vector<Cell>& cells, bool full, std::string text, double limit,
                  bool largest, Keep&& keep, Of&& share) {
  const Cell* found = nullptr;
  bool met = true;
  for (const Cell& cell : cells) {
    if (!keep(cell)) {
      continue;
    }
    const Share here = share(cell);
    met = met && (largest ? here.at_most(limit, full) : here.at_least(limit, full));
    if (found == nullptr ||
        (largest ? here.value() > share(*found).value() : here.value() < share(*found).value())) {
      found = &cell;
    }
  }
  const Share at = share(*found);
  return {std::move(text),
          fmt::format("worst {:.2f} % ({:.2f} to {:.2f}): {}, {}, effect {:g} %", 100 * at.value(),
                      100 * at.interval().low, 100 * at.interval().high, found->model->name,
                      found->plan, 100 * found->effect_share),
          met};
}

Requirement power_near_theory(const Grid& grid) {
  double largest = 0;
  std::string where = "no cell";
  bool met = true;
  for (const Cell& cell : grid.cells) {
    if (!judged(cell) || cell.model->name != "independent" || cell.effect_share == 0) {
      continue;
    }
    const Share seen{cell.counts.detected, cell.counts.runs};
    const double wanted = theory(cell, passes_of(cell.plan));
    const double slack = grid.size.full ? 0 : seen.interval().high - seen.value();
    met = met && std::fabs(seen.value() - wanted) <= kPowerPoints + slack;
    if (std::fabs(seen.value() - wanted) >= largest) {
      largest = std::fabs(seen.value() - wanted);
      where = fmt::format("{}, effect {:g} %: {:.2f} % seen, {:.2f} % by theory", cell.plan,
                          100 * cell.effect_share, 100 * seen.value(), 100 * wanted);
    }
  }
  return {"power within 3 points of theory in the clean model", "farthest " + where, met};
}

Requirement gate_false_red(const Grid& grid) {
  double largest = -1;
  std::string where;
  bool met = true;
  for (const GateRow& row : grid.gate) {
    for (std::size_t i = 0; i < kJobSizes.size(); ++i) {
      const Share confirmed{row.null.confirmed[i], row.null.runs};
      const Share screened{row.null.screened, row.null.runs};
      const double share = row.false_red_per_job(i);
      const double low = kJobSizes[i] * screened.interval().low * confirmed.interval().low;
      met = met && (grid.size.full ? share : low) <= stats::kMostFalseRed;
      if (share > largest) {
        largest = share;
        where = fmt::format("{:.4f} %: {}, {} workload{}", 100 * share, row.model->name,
                            kJobSizes[i], kJobSizes[i] == 1 ? "" : "s");
      }
    }
  }
  return {"gate: at most 0.05 % false red per job at 1, 5 and 20 workloads", "worst " + where, met};
}

Requirement gate_detection(const Grid& grid) {
  double smallest = 2;
  std::string where;
  bool met = true;
  for (const GateRow& row : grid.gate) {
    for (std::size_t i = 0; i < kJobSizes.size(); ++i) {
      const Share seen{row.effect.red[i], row.effect.runs};
      met = met && seen.at_least(stats::kGatePower, grid.size.full);
      if (seen.value() < smallest) {
        smallest = seen.value();
        where = fmt::format("{:.2f} %: {}, {} workload{}", 100 * smallest, row.model->name,
                            kJobSizes[i], kJobSizes[i] == 1 ? "" : "s");
      }
    }
  }
  return {"gate: at least 95 % detection of 2 pass-sd", "worst " + where, met};
}

Requirement margin_is_no_noise(const Grid& grid) {
  const Share quiet = said_equivalent(grid.margin.front());
  const Share loud = said_equivalent(grid.margin.back());
  return {"ten times the noise makes *equivalent* rarer",
          fmt::format("{:.1f} % of runs, then {:.1f} %", 100 * quiet.value(), 100 * loud.value()),
          quiet.interval().low > loud.interval().high};
}

// The canary: the same limits, asked of pooled Welch, must not all be met.
Requirement canary(const Grid& grid) {
  std::string fails;
  for (const Cell& cell : grid.cells) {
    if (judged(cell) && cell.effect_share == 0 && cell.plan == "standard" &&
        !pooled(cell).at_most(kMostFalsePositives, false)) {
      fails += fmt::format("{}{} {:.0f} %", fails.empty() ? "" : ", ", cell.model->name,
                           100 * pooled(cell).value());
    }
  }
  return {
      "canary: Welch's t on pooled requests fails",
      fails.empty() ? "it met every limit: the grid shows nothing" : "false positives: " + fails,
      !fails.empty()};
}

void simulate_cells(Grid& grid, int threads) {
  std::uint64_t number = 0;
  std::vector<double> effects = {0};
  effects.insert(effects.end(), grid.size.effects.begin(), grid.size.effects.end());
  for (const char* plan : {"standard", "quick", "two-pass"}) {
    const bool seeds = std::string(plan) == "two-pass";
    for (const NoiseModel& model : noise_models()) {
      for (const double effect : effects) {
        Cell cell{&model, plan, seeds ? "disjoint-pass-means" : "faster", effect, {}};
        fill(cell, ++number, effect == 0 ? grid.size.null_runs : grid.size.effect_runs, threads);
        grid.cells.push_back(std::move(cell));
      }
      std::fprintf(stderr, "%s, %s\n", plan, std::string(model.name).c_str());
    }
  }
}

void simulate_margin(Grid& grid, int threads) {
  static const NoiseModel loud = louder(noise_models().front(), 10);
  std::uint64_t number = 2000;
  const auto add = [&](const NoiseModel& model, double effect) {
    Cell cell{&model, "standard", "equivalent", effect, {}};
    fill(cell, ++number, grid.size.margin_runs, threads);
    grid.margin.push_back(std::move(cell));
  };
  for (const NoiseModel& model : noise_models()) {
    add(model, 0);
    add(model, kHarmLimit);
  }
  add(loud, 0);
  std::fprintf(stderr, "equivalence\n");
}

}  // namespace

Size full_size() {
  Size size;
  size.null_runs = 4'000;
  size.effect_runs = 2'000;
  size.effects = {0.005, 0.01, 0.02, 0.05};
  size.gate_null_runs = 200'000;
  size.gate_effect_runs = 10'000;
  size.margin_runs = 1'000;
  size.theory_draws = 100'000;
  size.full = true;
  return size;
}

Size short_size() {
  Size size;
  size.null_runs = 600;
  size.effect_runs = 200;
  size.effects = {0.005, 0.02};
  size.gate_null_runs = 20'000;
  size.gate_effect_runs = 1'000;
  size.margin_runs = 100;
  size.theory_draws = 10'000;
  return size;
}

Grid simulate_grid(const Size& size, int threads) {
  Grid grid;
  grid.size = size;
  simulate_cells(grid, threads);
  std::uint64_t number = 1000;
  for (const NoiseModel& model : noise_models()) {
    grid.gate.push_back(
        gate_row(model, ++number, size.gate_null_runs, size.gate_effect_runs, threads));
    std::fprintf(stderr, "gate, %s\n", std::string(model.name).c_str());
  }
  simulate_margin(grid, threads);
  for (const double effect : size.effects) {
    const Cell& cell = find(grid, "standard", "independent", effect);
    grid.looks_theory.push_back(theory_with_looks(std::log1p(effect) / cell.pass_sd(), {6, 12},
                                                  size.theory_draws, threads));
  }
  return grid;
}

std::vector<Requirement> requirements(const Grid& grid) {
  const bool full = grid.size.full;
  const auto null_cell = [](const Cell& cell) { return judged(cell) && cell.effect_share == 0; };
  const auto at_limit = [](const Cell& cell) { return cell.effect_share == kHarmLimit; };
  return {
      worst(grid.cells, full,
            "primary false positives at most 7 % at nominal 5 %, every noise model",
            kMostFalsePositives, true, null_cell, false_positives),
      worst(grid.cells, full,
            "false *improved* or *regressed* (faster, slower) at most 7 %, looks included",
            kMostFalsePositives, true, null_cell, false_verdicts),
      worst(grid.cells, full, "coverage of the 95 % interval at least 93 %, every effect",
            kLeastCoverage, false, judged, coverage),
      worst(grid.margin, full, "false *equivalent* at most 7 % where the change is the harm limit",
            kMostFalsePositives, true, at_limit, said_equivalent),
      power_near_theory(grid),
      gate_false_red(grid),
      gate_detection(grid),
      margin_is_no_noise(grid),
      canary(grid),
  };
}

const Cell& find(const Grid& grid, const std::string& plan, std::string_view model, double effect) {
  const auto found = std::find_if(grid.cells.begin(), grid.cells.end(), [&](const Cell& cell) {
    return cell.plan == plan && cell.model->name == model && cell.effect_share == effect;
  });
  if (found == grid.cells.end()) {
    throw std::out_of_range("no such cell: " + plan + ", " + std::string(model));
  }
  return *found;
}

}  // namespace abba::simulation
