// The grid as a Markdown page.
#include <fmt/format.h>

#include <cmath>

#include "harness/stats/distributions.h"
#include "harness/stats/gate_plan.h"
#include "harness/stats/versions.h"
#include "tests/simulation/report.h"

namespace abba::simulation {
namespace {

// "4.97 (4.55 to 5.41)" in per cent, with the exact 95 % limits of the simulation itself.
std::string share(std::int64_t count, std::int64_t of, int digits = 2) {
  const record::Interval limits = stats::proportion_interval(count, of, 0.95);
  return fmt::format("{0:.{3}f} ({1:.{3}f} to {2:.{3}f})",
                     100 * static_cast<double>(count) / static_cast<double>(of), 100 * limits.low,
                     100 * limits.high, digits);
}

std::string mean_passes(const Cell& cell) {
  return fmt::format(
      "{:.1f}", static_cast<double>(cell.counts.passes) / static_cast<double>(cell.counts.runs));
}

std::string percent_sign(double effect) {
  return fmt::format("{:g} %", 100 * effect);
}

void add_required(const std::vector<Requirement>& required, std::string& out) {
  out += "## Required and seen\n\n| required | seen | |\n|---|---|---|\n";
  for (const Requirement& row : required) {
    out += fmt::format("| {} | {} | {} |\n", row.text, row.seen, row.met ? "met" : "**not met**");
  }
}

void add_null(const Grid& grid, std::string& out) {
  out +=
      "\n## Nothing differs\n\n"
      "Per cent of runs, with exact 95 % limits of the simulation. *t on passes* and *coverage*: "
      "the "
      "primary test and its 95 % interval on all planned passes. *Verdicts*: improved or regressed "
      "(faster or slower) under the plan's looks. *Pooled Welch*: the canary, which takes each "
      "request for an independent observation. *Passes*: mean, after early stops.\n\n"
      "| noise | plan | t on passes | coverage | verdicts | invalid | passes | pass sd, % | pooled "
      "Welch |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const Cell& cell : grid.cells) {
    const CellCounts& n = cell.counts;
    if (cell.effect_share == 0 && cell.plan != "two-pass") {
      out += fmt::format("| {} | {} | {} | {} | {} | {:.2f} | {} | {:.3f} | {} |\n",
                         cell.model->name, cell.plan, share(n.detected, n.runs),
                         share(n.covered, n.runs), share(n.better + n.worse, n.runs),
                         100.0 * static_cast<double>(n.invalid) / static_cast<double>(n.runs),
                         mean_passes(cell), 100 * cell.pass_sd(), share(n.pooled, n.runs));
    }
  }
}

void add_effects(const Grid& grid, std::string& out) {
  out +=
      "\n## B is slower\n\n"
      "`standard` with a harm limit of 2 %. "
      "*Found*: per cent of runs that say regressed (slower under `quick`), looks included; "
      "*wrong*: "
      "those that say improved or faster.\n\n"
      "| noise | plan | effect | t on passes | found | wrong | coverage | passes |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const Cell& cell : grid.cells) {
    const CellCounts& n = cell.counts;
    if (cell.effect_share != 0 && cell.plan != "two-pass") {
      out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", cell.model->name, cell.plan,
                         percent_sign(cell.effect_share), share(n.detected, n.runs, 1),
                         share(n.worse, n.runs, 1), n.better, share(n.covered, n.runs, 1),
                         mean_passes(cell));
    }
  }
}

void add_theory(const Grid& grid, std::string& out) {
  out +=
      "\n## Power against theory, independent noise\n\n"
      "Theory: noncentral t at the pass sd seen; for the looks, normal pass values tested at 2.5 % "
      "after 6 and after 12. A verdict asks in addition that the sensitivity analyses do not "
      "disagree.\n\n"
      "| plan | effect | effect in pass sd | t on passes | by theory | verdict | by theory, looks "
      "only |\n|---|---|---|---|---|---|---|\n";
  for (const std::string plan : {"standard", "quick"}) {
    for (std::size_t i = 0; i < grid.size.effects.size(); ++i) {
      const double effect = grid.size.effects[i];
      const Cell& cell = find(grid, plan, "independent", effect);
      const bool standard = plan == "standard";
      out += fmt::format(
          "| {} | {} | {:.2f} | {} | {:.1f} | {} | {} |\n", plan, percent_sign(effect),
          std::log1p(effect) / cell.pass_sd(), share(cell.counts.detected, cell.counts.runs, 1),
          100 * theory(cell, standard ? 12 : 6), share(cell.counts.worse, cell.counts.runs, 1),
          standard ? fmt::format("{:.1f}", 100 * grid.looks_theory[i]) : "");
    }
  }
}

void add_margin(const Grid& grid, std::string& out) {
  out +=
      "\n## Equivalent within 2 %\n\n"
      "`standard`, claim *equivalent*, harm limit 2 %. Per cent of runs that say equivalent: if "
      "nothing differs, and (an error) if B is slower by exactly the limit. A limit is no noise: "
      "the "
      "last row has the same noise ten times as large.\n\n"
      "| noise | nothing differs | passes | slower by 2 % |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i + 1 < grid.margin.size(); i += 2) {
    const Cell& none = grid.margin[i];
    const Cell& at_limit = grid.margin[i + 1];
    out += fmt::format("| {} | {} | {} | {} |\n", none.model->name,
                       share(none.counts.equivalent, none.counts.runs, 1), mean_passes(none),
                       share(at_limit.counts.equivalent, at_limit.counts.runs));
  }
  const Cell& loud = grid.margin.back();
  out += fmt::format("| independent, ten times | {} | {} | |\n",
                     share(loud.counts.equivalent, loud.counts.runs, 1), mean_passes(loud));
}

void add_two_pass(const Grid& grid, std::string& out) {
  out +=
      "\n## The seeds' rule, `two-pass`\n\n"
      "Per cent of runs whose ranges of pass means are disjoint. It has no error rate: if nothing "
      "differs, exchangeable pass means give one run of three.\n\n| noise |";
  std::string line = "\n|---|";
  for (const Cell& cell : grid.cells) {
    if (cell.plan == "two-pass" && cell.model == &noise_models().front()) {
      out += fmt::format(" effect {} |", percent_sign(cell.effect_share));
      line += "---|";
    }
  }
  out += line;
  const NoiseModel* model = nullptr;
  for (const Cell& cell : grid.cells) {
    if (cell.plan == "two-pass") {
      if (cell.model != model) {
        model = cell.model;
        out += fmt::format("\n| {} |", model->name);
      }
      out +=
          fmt::format(" {} |", share(cell.counts.better + cell.counts.worse, cell.counts.runs, 1));
    }
  }
  out += "\n";
}

// Plain red runs that meet the limit exactly.
double allowed_events(const Grid& grid, std::size_t size) {
  return stats::kMostFalseRed * static_cast<double>(grid.size.gate.null_runs) / kJobSizes[size];
}

void add_gate(const Grid& grid, std::string& out) {
  out += "\n## The gate's plan\n\n";
  for (const int workloads : kJobSizes) {
    const stats::GatePlan plan = stats::gate_plan(workloads);
    out += fmt::format(
        "- {} workload{}: screen {} passes at one-sided {:g} %, confirm {} new passes at {:g} %; "
        "by "
        "theory {:.2f} % detection of 2 pass-sd\n",
        workloads, workloads == 1 ? "" : "s", plan.screen_passes, 100 * plan.screen_alpha,
        plan.confirm_passes, 100 * plan.confirm_alpha, 100 * plan.power);
  }
  out +=
      "\nThe design first asked for 6, 8 and 12 confirm passes. By the noncentral t those find 2 "
      "pass-sd "
      "in 87, 85 and 96 % of the jobs at 0.05 % false red, not in 95 %, and heavy tails cost three "
      "points more; hence the counts above.\n"
      "\nBoth looks are simulated on one machine, which carries its clocks, level, trend and the "
      "state of its noise from the screen into the confirmation; only processes are new. ";
  out += fmt::format(
      "Each run without an effect whose screen is suspicious is confirmed {} times, on the machine "
      "as the screen left it and with new draws: *false red* is workloads x share of (run, future) "
      "pairs that are red in both looks, in per cent, with exact 95 % limits, wider where futures "
      "of one screen agree. No look is taken as independent of the other, and a job of m workloads "
      "is red at most m times as often as one workload, however much they move together. This "
      "number is judged: the limit is {:g} %. *Plain*: the same from the first future of each run "
      "alone, with exact 95 % limits and the events counted. Of {} runs the limit allows {:.0f}, "
      "{:.0f} and {:.0f} plain events at 1, 5 and 20 workloads, so that at 20 a few "
      "more or fewer are chance: too few to judge by. *Detection*: red in both looks at 2 "
      "pass-sd.\n\n| noise | screened in |",
      grid.size.gate.futures, 100 * stats::kMostFalseRed, grid.size.gate.null_runs,
      allowed_events(grid, 0), allowed_events(grid, 1), allowed_events(grid, 2));
  for (const int workloads : kJobSizes) {
    out += fmt::format(" false red, {} (limit {:g}) | plain, {} |", workloads,
                       100 * stats::kMostFalseRed, workloads);
  }
  for (const int workloads : kJobSizes) {
    out += fmt::format(" detection, {} |", workloads);
  }
  out += "\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const GateRow& row : grid.gate) {
    out += fmt::format(
        "| {} | {:.2f} |", row.model->name,
        100 * static_cast<double>(row.null.screened) / static_cast<double>(row.null.runs));
    for (std::size_t i = 0; i < kJobSizes.size(); ++i) {
      const record::Interval limits = row.false_red_limits(i);
      const record::Interval plain = row.plain_limits(i, 0.95);
      out += fmt::format(" {:.4f} ({:.4f} to {:.4f}) | {:.4f} ({:.4f} to {:.4f}), {} |",
                         100 * row.false_red_per_job(i), 100 * limits.low, 100 * limits.high,
                         100 * row.plain_false_red_per_job(i), 100 * plain.low, 100 * plain.high,
                         row.null.red[i]);
    }
    for (std::size_t i = 0; i < kJobSizes.size(); ++i) {
      out += fmt::format(" {} |", share(row.effect.red[i], row.effect.runs));
    }
    out += "\n";
  }
}

void add_models(std::string& out) {
  out += "\n## Noise models\n\n";
  for (const NoiseModel& model : noise_models()) {
    out += fmt::format("- {}: {}\n", model.name, model.text);
  }
  out +=
      "\nEvery model has requests of 4 % (log scale) besides; 30 measured requests a slot (50 "
      "under "
      "`two-pass`). Nothing was tuned to a machine: what the harness does on a real one is "
      "measured "
      "there.\n";
}

}  // namespace

std::string page(const Grid& grid, const std::vector<Requirement>& required) {
  std::string out = fmt::format(
      "# What the verdicts do on noise with known truth\n\n"
      "Made by `./dev simulate`, which makes every number again from fixed seeds. Analysis {}; "
      "plans "
      "through the harness's own parser and planner, runs judged by the harness's own analysis. {} "
      "runs a cell without an effect, {} with one, {} of the gate. A run is judged by the version "
      "that it names: what this page shows is of runs that name this one, and runs of an earlier "
      "one (the first published ones name abba.analysis/1) keep its rules, which part from these "
      "in "
      "what makes a run invalid and in what ends one early, and not in how times are judged.\n\n",
      stats::kAnalysisVersion, grid.size.null_runs, grid.size.effect_runs,
      grid.size.gate.null_runs);
  add_required(required, out);
  add_null(grid, out);
  add_effects(grid, out);
  add_theory(grid, out);
  add_margin(grid, out);
  add_two_pass(grid, out);
  add_gate(grid, out);
  add_models(out);
  return out;
}

}  // namespace abba::simulation
