#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>

#include "harness/report/format.h"
#include "harness/report/sections/sections.h"
#include "harness/stats/capture_costs.h"

namespace abba::report {
namespace {

using Cost = std::optional<std::int64_t>;

constexpr const char* kAbsent = "–";

std::string time_or_absent(const Cost& cost) {
  return cost ? time_text(static_cast<double>(*cost)) : kAbsent;
}

std::string count_or_absent(const Cost& cost) {
  return cost ? count_text(*cost) : kAbsent;
}

std::string warm_up_text(const record::CaptureCosts& costs) {
  if (!costs.warm_runs || !costs.warm_ns) {
    return kAbsent;
  }
  return counted(*costs.warm_runs, "run") + ", " + time_text(static_cast<double>(*costs.warm_ns));
}

Line row_of(const record::GraphCapture& capture) {
  const record::CaptureCosts& costs = capture.costs;
  return {plain(capture.workload),
          plain(capture.arm),
          plain(costs.shape),
          plain(time_or_absent(costs.first_run_ns)),
          plain(warm_up_text(costs)),
          plain(time_or_absent(costs.capture_ns)),
          plain(time_or_absent(costs.instantiate_ns)),
          plain(time_or_absent(costs.upload_ns)),
          plain(time_or_absent(costs.first_replay_ns)),
          plain(count_or_absent(costs.nodes)),
          plain(count_or_absent(costs.bytes))};
}

// Planned arms and workloads in their order, each with what its ledger holds, or with nothing.
Table costs_table(const record::RunRecord& run, const record::PlannedPass& planned) {
  Table table;
  table.head = {"workload",    "arm",    "shape",        "first run", "warm-up", "capture",
                "instantiate", "upload", "first replay", "nodes",     "bytes"};
  table.first_number = 3;
  const auto captures = stats::counted_captures(run);
  for (const record::PlannedBlock& block : planned.blocks) {
    for (const char letter : planned.start_order) {
      const std::string arm(1, letter);
      const std::size_t before = table.rows.size();
      for (const record::GraphCapture* capture : captures) {
        if (capture->workload == block.workload && capture->arm == arm) {
          table.rows.push_back(row_of(*capture));
        }
      }
      if (table.rows.size() == before) {
        Line absent(table.head.size(), plain(kAbsent));
        absent[0] = plain(block.workload);
        absent[1] = plain(arm);
        absent[2] = plain("not answered, see the doubts");
        table.rows.push_back(std::move(absent));
      }
    }
  }
  return table;
}

std::string requests_text(double requests) {
  return count_text(static_cast<std::int64_t>(std::ceil(requests)));
}

void break_even_lines(const Source& source, Document& document) {
  for (const record::Verdict& verdict : source.analysis.verdicts) {
    const auto found = stats::break_even(source.run, verdict);
    if (found && found->most < 1e15) {
      document.paragraph(fmt::format(
          "{}: capture, instantiate and upload of {} ({}) are won back after {} requests at the "
          "measured effect, {} to {} at the ends of its 95 % interval.",
          verdict.workload, found->arm, time_text(found->cost_ns), requests_text(found->requests),
          requests_text(found->fewest), requests_text(found->most)));
    }
  }
}

}  // namespace

void capture_section(const Source& source, Document& document) {
  for (const record::PlannedPass& planned : source.run.plan.passes) {
    if (planned.phase != record::Phase::kGraphCapture) {
      continue;
    }
    document.heading("Warm-up and capture costs");
    document.paragraph(
        "What a shape costs until it runs as a captured graph, as a fresh worker of each arm "
        "measured it once, after all passes. None of these times is inside any measured one, and "
        "no request was timed in these workers. Bytes are of device memory.");
    document.add(costs_table(source.run, planned));
    break_even_lines(source, document);
  }
}

}  // namespace abba::report
