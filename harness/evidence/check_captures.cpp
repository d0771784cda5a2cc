// What the graph-capture pass stored against what the plan promised.
#include <algorithm>
#include <set>
#include <tuple>

#include "harness/evidence/check_record.h"
#include "harness/record/later_pass_notes.h"
#include "harness/record/names.h"
#include "harness/stats/capture_costs.h"

namespace abba::evidence {
namespace {

using record::GraphCapture;
using record::PlannedPass;
using record::RunRecord;

std::string name_of(const std::string& arm, const std::string& workload) {
  return "the graph capture of arm " + arm + " on workload " + workload;
}

const PlannedPass* planned_pass(const RunRecord& run) {
  const auto found =
      std::find_if(run.plan.passes.begin(), run.plan.passes.end(),
                   [](const auto& pass) { return pass.phase == record::Phase::kGraphCapture; });
  return found == run.plan.passes.end() ? nullptr : &*found;
}

bool is_planned(const PlannedPass& planned, const std::string& arm, const std::string& workload) {
  return arm.size() == 1 && planned.start_order.find(arm) != std::string::npos &&
         std::any_of(planned.blocks.begin(), planned.blocks.end(),
                     [&](const auto& block) { return block.workload == workload; });
}

// A worker of its own, in which nothing was timed.
std::string check_worker(const RunRecord& run, const GraphCapture& capture) {
  const std::string where = name_of(capture.arm, capture.workload);
  const auto worker = std::find_if(run.workers.begin(), run.workers.end(),
                                   [&](const auto& one) { return one.id == capture.worker; });
  if (worker == run.workers.end()) {
    return where + " names a worker that is not recorded";
  }
  if (worker->arm != capture.arm || worker->pass != record::kLaterPass) {
    return where + " names a worker that was started for something else";
  }
  for (const record::Pass& pass : run.passes) {
    for (const record::Block& block : pass.blocks) {
      for (const record::Slot& slot : block.slots) {
        if (slot.worker == capture.worker) {
          return where + " names a worker that requests were timed in";
        }
      }
    }
  }
  return "";
}

std::string missing(const RunRecord& run, const PlannedPass& planned) {
  const bool excused = std::any_of(run.notes.begin(), run.notes.end(), [](const auto& note) {
    return note.code == record::kLaterPassUnable || note.code == record::kLaterPassFailed;
  });
  const bool ended = std::any_of(run.passes.begin(), run.passes.end(), [](const auto& pass) {
    return pass.phase == record::Phase::kGraphCapture && !pass.superseded && pass.end_ns != 0;
  });
  if (excused || !ended) {
    return "";
  }
  std::set<std::pair<std::string, std::string>> found;
  for (const GraphCapture* capture : stats::counted_captures(run)) {
    found.insert({capture->arm, capture->workload});
  }
  for (const auto& block : planned.blocks) {
    for (const char letter : planned.start_order) {
      if (!found.contains({std::string(1, letter), block.workload})) {
        return name_of(std::string(1, letter), block.workload) + " is missing";
      }
    }
  }
  return "";
}

}  // namespace

std::string check_captures(const RunRecord& run) {
  const PlannedPass* planned = planned_pass(run);
  std::set<std::tuple<std::int64_t, std::string, std::string>> seen;
  for (const GraphCapture& capture : run.graph_captures) {
    if (planned == nullptr || !is_planned(*planned, capture.arm, capture.workload)) {
      return name_of(capture.arm, capture.workload) + " was not planned";
    }
    if (!seen.insert({capture.worker, capture.workload, capture.costs.shape}).second) {
      return name_of(capture.arm, capture.workload) + " holds a shape twice";
    }
    const std::string wrong = check_worker(run, capture);
    if (!wrong.empty()) {
      return wrong;
    }
  }
  return planned == nullptr ? "" : missing(run, *planned);
}

}  // namespace abba::evidence
