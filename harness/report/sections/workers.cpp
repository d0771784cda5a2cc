#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/report/format.h"
#include "harness/report/sections/sections.h"
#include "harness/stats/estimators.h"

namespace abba::report {
namespace {

using StepTimes = std::map<std::pair<std::string, std::string>, std::vector<double>>;

Table setup_table(const record::RunRecord& run) {
  StepTimes steps;  // (step, arm) -> every worker's time
  for (const record::WorkerProcess& worker : run.workers) {
    if (worker.pass == record::kLaterPass) {  // under other conditions than measured ones
      continue;
    }
    for (const auto& [step, time_ns] : worker.setup_ns) {
      steps[{step, worker.arm}].push_back(time_ns);
    }
  }
  Table table;
  table.head = {"step", "arm", "workers", "median", "smallest", "largest"};
  table.first_number = 2;
  for (const auto& [key, times] : steps) {
    const auto [low, high] = std::minmax_element(times.begin(), times.end());
    table.rows.push_back({plain(key.first), plain(key.second),
                          plain(count_text(static_cast<std::int64_t>(times.size()))),
                          plain(time_text(stats::median(times))), plain(time_text(*low)),
                          plain(time_text(*high))});
  }
  return table;
}

struct WarmUp {
  std::vector<double> first;  // first warm-up request of each slot
  std::vector<double> all;    // every warm-up request
};

Table warm_up_table(const record::RunRecord& run) {
  std::map<std::pair<std::string, std::string>, WarmUp> found;  // (workload, arm)
  for (const record::Pass& pass : run.passes) {
    for (const record::Block& block : pass.blocks) {
      for (const record::Slot& slot : block.slots) {
        WarmUp& warm_up = found[{block.workload, slot.arm}];
        bool first = true;
        for (const record::Sample& sample : slot.samples) {
          if (sample.warmup) {
            const auto time = static_cast<double>(sample.duration_ns);
            warm_up.all.push_back(time);
            if (std::exchange(first, false)) {
              warm_up.first.push_back(time);
            }
          }
        }
      }
    }
  }
  Table table;
  table.head = {"workload", "arm",          "warm-up requests", "first of a slot, median",
                "largest",  "median of all"};
  table.first_number = 2;
  for (const auto& [key, warm_up] : found) {
    if (!warm_up.all.empty()) {
      table.rows.push_back(
          {plain(key.first), plain(key.second),
           plain(count_text(static_cast<std::int64_t>(warm_up.all.size()))),
           plain(time_text(stats::median(warm_up.first))),
           plain(time_text(*std::max_element(warm_up.all.begin(), warm_up.all.end()))),
           plain(time_text(stats::median(warm_up.all)))});
    }
  }
  return table;
}

}  // namespace

void workers_section(const Source& source, Document& document) {
  const record::RunRecord& run = source.run;
  document.heading("Worker starts and warm-up");
  if (run.workers.empty()) {
    document.paragraph("No worker process is recorded.");
    return;
  }
  document.paragraph("None of these times is inside any measured one.");
  if (Table table = setup_table(run); !table.rows.empty()) {
    document.add(std::move(table));
  }
  if (Table table = warm_up_table(run); !table.rows.empty()) {
    document.add(std::move(table));
  }
}

}  // namespace abba::report
