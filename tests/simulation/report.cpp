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

// A share seen, with its exact 95 % limits.
struct Share {
  std::int64_t count = 0;
  std::int64_t of = 0;
  [[nodiscard]] double value() const { return static_cast<double>(count) / double(of); }
  [[nodiscard]] record::Interval interval() const {
    return stats::proportion_interval(count, of, 0.95);
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
Requirement worst(const std::vector<Cell>& cells, std::string text, double limit, bool largest,
                  Keep&& keep, Of&& share) {
  const Cell* found = nullptr;
  for (const Cell& cell : cells) {
    if (keep(cell) &&
        (found == nullptr || (largest ? share(cell).value() > share(*found).value()
                                      : share(cell).value() < share(*found).value()))) {
      found = &cell;
    }
  }
  if (found == nullptr) {
    return {std::move(text), "no cell", false};
  }
  const Share at = share(*found);
  return {std::move(text),
          fmt::format("worst {:.2f} % ({:.2f} to {:.2f}): {}, {}, effect {:g} %", 100 * at.value(),
                      100 * at.interval().low, 100 * at.interval().high, found->model->name,
                      found->plan, 100 * found->effect_share),
          largest ? at.value() <= limit : at.value() >= limit};
}

Requirement power_near_theory(const Grid& grid) {
  double largest = -1;
  std::string where = "no cell";
  for (const Cell& cell : grid.cells) {
    if (!judged(cell) || cell.model->name != "independent" || cell.effect_share == 0) {
      continue;
    }
    const Share seen{cell.counts.detected, cell.counts.runs};
    const double wanted = theory(cell, passes_of(cell.plan));
    if (std::fabs(seen.value() - wanted) >= largest) {
      largest = std::fabs(seen.value() - wanted);
      where = fmt::format("{}, effect {:g} %: {:.2f} % seen, {:.2f} % by theory", cell.plan,
                          100 * cell.effect_share, 100 * seen.value(), 100 * wanted);
    }
  }
  return {"power within 3 points of theory in the clean model", "farthest " + where,
          largest >= 0 && largest <= kPowerPoints};
}

std::string job_text(std::size_t size) {
  return fmt::format("{} workload{}", kJobSizes[size], kJobSizes[size] == 1 ? "" : "s");
}

struct GateCell {
  const GateRow* row = nullptr;
  std::size_t size = 0;
};

// The cell of the gate's grid where `of(row, size)` is largest.
template <typename Of>
GateCell largest_of_gate(const Grid& grid, Of&& of) {
  GateCell found;
  for (const GateRow& row : grid.gate) {
    for (std::size_t i = 0; i < kJobSizes.size(); ++i) {
      if (found.row == nullptr || of(row, i) > of(*found.row, found.size)) {
        found = {&row, i};
      }
    }
  }
  return found;
}

Requirement gate_false_red(const Grid& grid) {
  const GateCell worst = largest_of_gate(
      grid, [](const GateRow& row, std::size_t i) { return row.false_red_per_job(i); });
  const GateCell plain = largest_of_gate(
      grid, [](const GateRow& row, std::size_t i) { return row.plain_false_red_per_job(i); });
  const double share = worst.row->false_red_per_job(worst.size);
  const record::Interval limits = worst.row->false_red_limits(worst.size);
  return {"gate: at most 0.05 % false red per job at 1, 5 and 20 workloads",
          fmt::format("worst {:.4f} % ({:.4f} to {:.4f}): {}, {}; of plain counts, too few to "
                      "judge by, the worst is {:.4f} %: {} of {} runs, {}, {}",
                      100 * share, 100 * limits.low, 100 * limits.high, worst.row->model->name,
                      job_text(worst.size), 100 * plain.row->plain_false_red_per_job(plain.size),
                      plain.row->null.red[plain.size], plain.row->null.runs, plain.row->model->name,
                      job_text(plain.size)),
          share <= stats::kMostFalseRed};
}

// Futures that repeated one another, or left out what the machine carries over, would part from
// the plain counts; these are wide, and the level leaves room for all 27 of them.
Requirement gate_counts_agree(const Grid& grid) {
  constexpr double kLevel = 0.9999;
  std::string apart;
  for (const GateRow& row : grid.gate) {
    for (std::size_t i = 0; i < kJobSizes.size(); ++i) {
      const record::Interval limits = row.plain_limits(i, kLevel);
      const double share = row.false_red_per_job(i);
      if (share < limits.low || share > limits.high) {
        apart += fmt::format("{}{}, {}", apart.empty() ? "" : "; ", row.model->name, job_text(i));
      }
    }
  }
  return {"gate: false red from many futures lies within the exact 99.99 % limits of plain counts",
          apart.empty() ? "every model and size" : "apart: " + apart, apart.empty()};
}

Requirement gate_detection(const Grid& grid) {
  const auto missed = [](const GateRow& row, std::size_t i) {
    return 1 - Share{row.effect.red[i], row.effect.runs}.value();
  };
  const GateCell worst = largest_of_gate(grid, missed);
  const double found = 1 - missed(*worst.row, worst.size);
  return {"gate: at least 95 % detection of 2 pass-sd",
          fmt::format("worst {:.2f} %: {}, {}", 100 * found, worst.row->model->name,
                      job_text(worst.size)),
          found >= stats::kGatePower};
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
        pooled(cell).interval().low > kMostFalsePositives) {
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
  for (const std::string& plan : grid.size.plans) {
    const bool seeds = plan == "two-pass";
    for (const NoiseModel& model : noise_models()) {
      for (const double effect : effects) {
        Cell cell{&model, plan, seeds ? "disjoint-pass-means" : "faster", effect, {}};
        fill(cell, ++number, effect == 0 ? grid.size.null_runs : grid.size.effect_runs, threads);
        grid.cells.push_back(std::move(cell));
      }
      std::fprintf(stderr, "%s, %s\n", plan.c_str(), std::string(model.name).c_str());
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
  size.plans = {"standard", "quick", "two-pass"};
  size.null_runs = 4'000;
  size.effect_runs = 2'000;
  size.effects = {0.005, 0.01, 0.02, 0.05};
  size.gate = {.null_runs = 200'000, .futures = 40, .effect_runs = 10'000};
  size.margin_runs = 1'000;
  size.theory_draws = 100'000;
  return size;
}

// As many runs as judge by the point, of what is judged: two-pass is only told, and one effect
// stands for all.
Size short_size() {
  Size size;
  size.plans = {"standard", "quick"};
  size.null_runs = 2'000;
  size.effect_runs = 1'500;
  size.effects = {0.005};
  size.gate = {.null_runs = 16'000, .futures = 60, .effect_runs = 1'500};
  size.margin_runs = 400;
  size.theory_draws = 10'000;
  return size;
}

Grid simulate_grid(const Size& size, int threads) {
  Grid grid;
  grid.size = size;
  simulate_cells(grid, threads);
  std::uint64_t number = 1000;
  for (const NoiseModel& model : noise_models()) {
    grid.gate.push_back(gate_row(model, ++number, size.gate, threads));
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
  const auto null_cell = [](const Cell& cell) { return judged(cell) && cell.effect_share == 0; };
  const auto at_limit = [](const Cell& cell) { return cell.effect_share == kHarmLimit; };
  return {
      worst(grid.cells, "primary false positives at most 7 % at nominal 5 %, every noise model",
            kMostFalsePositives, true, null_cell, false_positives),
      worst(grid.cells,
            "false *improved* or *regressed* (faster, slower) at most 7 %, looks included",
            kMostFalsePositives, true, null_cell, false_verdicts),
      worst(grid.cells, "coverage of the 95 % interval at least 93 %, every effect", kLeastCoverage,
            false, judged, coverage),
      worst(grid.margin, "false *equivalent* at most 7 % where the change is the harm limit",
            kMostFalsePositives, true, at_limit, said_equivalent),
      power_near_theory(grid),
      gate_false_red(grid),
      gate_counts_agree(grid),
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
