// The graph-capture pass: what each arm pays until a shape runs as a captured graph, asked of a
// fresh worker with `graph_capture`, one workload after the other, and stored apart from latency.
#pragma once

#include "harness/run/later_passes.h"

namespace abba::run {

class CaptureWork : public LaterWork {
 public:
  [[nodiscard]] std::string lack(const record::WorkerHello& hello) const override;
  void run(Session& session, const LaterArm& arm, const record::PlannedBlock& block) override;
};

}  // namespace abba::run
