#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "harness/report/format.h"
#include "harness/report/sections/sections.h"

namespace abba::report {
namespace {

constexpr std::size_t kLongestValue = 160;
constexpr std::size_t kUnfolded = 24;

std::string shortened(const std::string& value) {
  if (value.size() <= kLongestValue) {
    return value;
  }
  return fmt::format("{}… ({} more bytes in the run file)", value.substr(0, kLongestValue),
                     value.size() - kLongestValue);
}

Table identity_table(const record::RunRecord& run) {
  Table table;
  table.head = {"source", "what", "value"};
  table.first_number = 3;
  for (const record::Identity& identity : run.identity) {
    if (is_reference(identity)) {
      continue;
    }
    table.rows.push_back(
        {plain(identity.source), plain(identity.key), code(shortened(identity.value))});
  }
  if (table.rows.size() > kUnfolded) {
    table.fold = fmt::format("Identity of the machine ({} readings)", table.rows.size());
  }
  return table;
}

std::string cpus_text(const std::set<std::vector<int>>& sets) {
  std::vector<std::string> parts;
  for (const std::vector<int>& cpus : sets) {
    parts.push_back(cpus.empty() ? "not read back" : fmt::format("{}", fmt::join(cpus, ",")));
  }
  return fmt::format("{}", fmt::join(parts, " · "));
}

std::string affinity_text(const record::RunRecord& run, const std::string& arm) {
  std::set<std::vector<int>> sets;
  for (const record::WorkerProcess& worker : run.workers) {
    if (worker.arm == arm || worker.arm == record::kBothArms) {
      sets.insert(worker.cpus);
    }
  }
  return sets.empty() ? "no worker" : cpus_text(sets);
}

Table bindings_table(const record::RunRecord& run) {
  Table table;
  table.head = {"bound before timing", "value"};
  table.first_number = 2;
  table.fold = fmt::format("Bindings ({})", run.bindings.size());
  for (const record::Binding& binding : run.bindings) {
    table.rows.push_back({plain(binding.name), code(shortened(binding.value))});
  }
  return table;
}

}  // namespace

void machine_section(const Source& source, Document& document) {
  const record::RunRecord& run = source.run;
  document.heading("Machine");
  document.paragraph(fmt::format("Run {} to {}, program {}, analysis {}.", run.started_utc,
                                 run.finished_utc.empty() ? "–" : run.finished_utc,
                                 run.program_version, source.analysis.version));
  const bool any_wish = !run.manifest.affinity.cpus.empty();
  document.paragraph(fmt::format(
      "CPUs as read back from the kernel: arm A {}, arm B {}{}.", affinity_text(run, "A"),
      affinity_text(run, "B"),
      any_wish ? fmt::format("; asked for {}", fmt::join(run.manifest.affinity.cpus, ","))
               : "; asked for the default rule"));
  if (run.identity.empty()) {
    document.paragraph("No identity of the machine is recorded.");
  } else {
    document.add(identity_table(run));
  }
  if (!run.bindings.empty()) {
    document.add(bindings_table(run));
  }
}

}  // namespace abba::report
