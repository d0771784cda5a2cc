#include "harness/run/capture_pass.h"

#include <utility>

#include "engine/base/error.h"
#include "harness/run/notes.h"

namespace abba::run {

std::string CaptureWork::lack(const record::WorkerHello& hello) const {
  return hello.declares("graph_capture") ? "" : "does not declare \"graph_capture\"";
}

void CaptureWork::run(Session& session, const LaterArm& arm, const record::PlannedBlock& block) {
  store::Facts facts;
  try {
    for (record::CaptureCosts& costs : arm.worker.graph_capture(block.workload)) {
      facts.graph_captures.push_back({arm.worker_id, arm.arm, block.workload, std::move(costs)});
    }
  } catch (const base::Error& error) {
    if (error.code() != base::ErrorCode::kPreflight) {
      throw;
    }
    session.note(kLaterPassFailed, block.workload + ", arm " + arm.arm,
                 error.what());  // the others may do
    return;
  }
  session.commit("graph capture", facts);
}

}  // namespace abba::run
