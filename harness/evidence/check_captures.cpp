// What the graph-capture pass stored against what the plan promised.
#include <algorithm>
#include <set>
#include <tuple>

#include "harness/evidence/check_record.h"
#include "harness/evidence/later_workers.h"
#include "harness/record/later_pass_notes.h"
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
  if (!is_later_worker(run, capture.worker, capture.arm)) {
    return where + " names a worker that was not started for it";
  }
  if (answered_elsewhere(run, capture.worker, record::Phase::kGraphCapture)) {
    return where + " names a worker that requests were timed in";
  }
  return "";
}

constexpr std::string_view kExcuses[] = {record::kLaterPassUnable, record::kLaterPassFailed};

std::string missing(const RunRecord& run, const PlannedPass& planned) {
  const bool ended = std::any_of(run.passes.begin(), run.passes.end(), [](const auto& pass) {
    return pass.phase == record::Phase::kGraphCapture && !pass.superseded && pass.end_ns != 0;
  });
  if (!ended) {
    return "";
  }
  std::set<std::pair<std::string, std::string>> found;
  for (const GraphCapture* capture : stats::counted_captures(run)) {
    found.insert({capture->arm, capture->workload});
  }
  for (const auto& block : planned.blocks) {
    for (const char letter : planned.start_order) {
      const std::string arm(1, letter);
      if (!found.contains({arm, block.workload}) &&
          !is_excused(run, planned.phase, arm, block.workload, kExcuses)) {
        return name_of(arm, block.workload) + " is missing";
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
