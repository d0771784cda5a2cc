#include "harness/run/resume.h"

#include <algorithm>
#include <map>

namespace abba::run {
namespace {

std::map<std::string, int> planned_blocks(const record::RunRecord& record,
                                          const record::Pass& pass) {
  std::map<std::string, int> wanted;
  for (const auto& planned : record.plan.passes) {
    if (planned.phase == pass.phase && planned.index == pass.index) {
      for (const auto& block : planned.blocks) {
        ++wanted[block.workload];
      }
    }
  }
  return wanted;
}

bool complete(const record::RunRecord& record, const record::Pass& pass) {
  if (record::is_later(pass.phase)) {
    return pass.end_ns != 0;
  }
  if (pass.end_ns <= pass.start_ns) {
    return false;
  }
  std::map<std::string, int> missing = planned_blocks(record, pass);
  for (const auto& block : pass.blocks) {
    missing[block.workload] -= block.failed ? 0 : 1;
  }
  return std::all_of(missing.begin(), missing.end(),
                     [](const auto& entry) { return entry.second <= 0; });
}

}  // namespace

ResumePoint resume_point(const record::RunRecord& record) {
  ResumePoint point;
  for (const auto& pass : record.passes) {
    if (pass.superseded) {
      continue;
    }
    if (!complete(record, pass)) {
      point.supersede.push_back(pass.id);
    } else if (pass.phase == record::Phase::kMeasured) {
      point.done.insert(pass.index);
    } else if (record::is_later(pass.phase)) {
      point.later_done.insert(pass.phase);
    }
  }
  return point;
}

}  // namespace abba::run
