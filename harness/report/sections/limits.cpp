#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "harness/report/format.h"
#include "harness/report/sections/sections.h"
#include "harness/stats/family.h"
#include "harness/stats/run_kind.h"

namespace abba::report {
namespace {

// What of the run was repeated, counted over passes that are not superseded.
struct Repeated {
  std::int64_t requests = 0;
  std::int64_t blocks = 0;
  std::int64_t passes = 0;
  std::set<std::int64_t> workers;
};

Repeated count(const record::RunRecord& run) {
  Repeated repeated;
  for (const record::Pass& pass : run.passes) {
    if (pass.phase != record::Phase::kMeasured || pass.superseded) {
      continue;
    }
    ++repeated.passes;
    for (const record::Block& block : pass.blocks) {
      ++repeated.blocks;
      for (const record::Slot& slot : block.slots) {
        repeated.workers.insert(slot.worker);
        repeated.requests += std::count_if(slot.samples.begin(), slot.samples.end(),
                                           [](const auto& sample) { return !sample.warmup; });
      }
    }
  }
  return repeated;
}

Table levels_table(const record::RunRecord& run) {
  const Repeated repeated = count(run);
  const bool fresh = static_cast<std::int64_t>(repeated.workers.size()) >= 2 * repeated.passes &&
                     repeated.passes > 1;
  int rotated = 0;
  for (const record::Workload& workload : run.manifest.workloads) {
    rotated = std::max(rotated, workload.rotate);
  }
  Table table;
  table.head = {"level", "repeated", "drawn anew", "so the interval"};
  table.first_number = 4;
  const auto row = [&](const char* level, std::string times, bool drawn, const char* covers) {
    table.rows.push_back(
        {plain(level), plain(std::move(times)), plain(drawn ? "yes" : "no"), plain(covers)});
  };
  row("request", count_text(repeated.requests), true, "is not built on it: requests are dependent");
  row("block", count_text(repeated.blocks), true, "averages over it");
  row("process", count_text(static_cast<std::int64_t>(repeated.workers.size())), fresh,
      fresh ? "covers another start of the programs" : "does not cover another start");
  row("input", rotated > 0 ? fmt::format("{} variants", rotated) : "1", rotated > 0,
      rotated > 0 ? "covers the variants declared" : "does not cover other inputs");
  row("build", "1", false, "does not cover another build or layout of the program");
  row("machine and GPU", "1", false, "does not cover another machine");
  row("boot and day", "1", false, "does not cover another boot or day");
  return table;
}

// What the kind of the run leaves to runs of the other kind.
std::string scope_sentence(const record::RunRecord& run) {
  if (stats::run_kind(run) == stats::RunKind::kRuntimeComparison) {
    return "It compares two programs as registered, at one boundary, on this machine. It makes no "
           "claim about any optimization: no change to either program was isolated, and which part "
           "of either makes the difference was not measured.";
  }
  return "It compares B with A as registered. It makes no claim about any other program, an "
         "earlier or original runtime included.";
}

}  // namespace

void limits_section(const Source& source, Document& document) {
  document.heading("What this run does not show");
  document.paragraph("Only a level that was repeated and drawn anew is covered by the interval:");
  document.add(levels_table(source.run));
  Bullets bullets;
  bullets.items.push_back({plain(scope_sentence(source.run))});
  bullets.items.push_back(
      {plain("It shows that times differ or do not, not why: no hardware counter was read.")});
  bullets.items.push_back(
      {plain("Its gain must not be multiplied with gains of other experiments.")});
  if (source.run.output_checks.empty()) {
    bullets.items.push_back({plain("It does not show that the arms compute the same results.")});
  }
  if (stats::judged_by_disjoint_means(source.run)) {
    bullets.items.push_back(
        {plain("Two passes are few: disjoint pass means come about by chance in one workload of "
               "three if nothing differs.")});
  }
  document.add(std::move(bullets));
}

}  // namespace abba::report
