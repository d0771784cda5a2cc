#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <string>

#include "harness/report/format.h"
#include "harness/report/sections/sections.h"
#include "harness/report/supplement.h"
#include "harness/stats/family.h"
#include "harness/stats/wording.h"

namespace abba::report {
namespace {

std::string p_text(double p) {
  return p < 0 ? "–" : p < 1e-4 ? "< 0.0001" : fmt::format("{:.4f}", p);
}

Table pass_table(const record::Verdict& verdict) {
  Table table;
  table.head = {"pass", "B against A"};
  table.fold = "Pass by pass";
  for (std::size_t i = 0; i < verdict.pass_effects.size(); ++i) {
    table.rows.push_back(
        {plain("pass " + std::to_string(verdict.pass_indices[i] + 1)),
         plain(stats::percent(std::expm1(verdict.pass_effects[i]), 2 * verdict.pass_sd))});
  }
  return table;
}

Table analyses_table(const record::RunRecord& run, const record::Verdict& v) {
  Table table;
  table.head = {"analysis", "estimate", "interval", "level", "p"};
  const auto row = [&](std::string name, double estimate, const record::Interval& interval,
                       double p) {
    const double width = interval.estimable() ? stats::half_width(interval) : 0;
    table.rows.push_back({plain(std::move(name)), plain(stats::percent(estimate, width)),
                          plain(stats::interval_text(interval)),
                          plain(interval.estimable() ? stats::level_text(interval.level) : "–"),
                          plain(p_text(p))});
  };
  if (v.deciding.estimable()) {
    row("Student t over passes, as it decided", v.effect, v.deciding, -1);
  }
  row("Student t over passes, plain (secondary)", v.effect, v.plain95, v.p_difference);
  row("Hodges–Lehmann, signed rank (sensitivity)", v.hodges_lehmann, v.signed_rank,
      v.signed_rank_p);
  const stats::Bootstrap bootstrap = bootstrap_check(run, v.workload);
  if (bootstrap.rescaled.estimable()) {
    row("hierarchical bootstrap of medians (a check, decides nothing)",
        std::expm1(bootstrap.estimate), stats::to_fraction(bootstrap.rescaled), -1);
  }
  table.rows.push_back({plain("sign flip of the passes (sensitivity)"), plain(""), plain(""),
                        plain(""), plain(p_text(v.sign_flip_p))});
  return table;
}

std::string numbers_text(const record::Verdict& v) {
  std::string text =
      fmt::format("Standard deviation of the passes {}; {} used, {} tainted, {} failed.",
                  stats::percent(v.pass_sd, v.pass_sd).substr(1), counted(v.blocks_used, "block"),
                  v.blocks_tainted, v.blocks_failed);
  if (v.detectable > 0) {
    text += fmt::format(" With this noise the plan finds a difference of {} in four runs of five.",
                        stats::percent(v.detectable, v.detectable / 2).substr(1));
  }
  if (v.carry_over.estimable()) {
    text += fmt::format(
        " Carry-over (first slot of a block against a later one of the same arm): {}, 95 % "
        "interval "
        "{}.",
        stats::percent(v.carry_over_effect, stats::half_width(v.carry_over)),
        stats::interval_text(v.carry_over));
  }
  return text;
}

}  // namespace

void effects_section(const Source& source, Document& document) {
  document.heading("Effect of each pass");
  for (const record::Verdict& verdict : source.analysis.verdicts) {
    document.heading(verdict.workload, 3);
    if (verdict.passes == 0) {
      document.paragraph("No complete measured pass.");
      continue;
    }
    document.add(Figure{svg_pass_effects(source.run, verdict), "",
                        "Dots: passes. Diamond and bar: their mean and its interval. Shaded: the "
                        "harm limit, if one is declared."});
    if (!stats::judged_by_disjoint_means(source.run)) {
      document.add(analyses_table(source.run, verdict));
    }
    document.paragraph(numbers_text(verdict));
    document.add(pass_table(verdict));
  }
}

}  // namespace abba::report
