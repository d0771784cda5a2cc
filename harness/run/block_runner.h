// One block: its slots in order, each with the environment read before and after, then one commit.
// A block whose worker dies, hangs or answers wrongly is committed as failed with the slots before
// it; a block that is stopped between slots likewise, so that nothing measured is lost.
#pragma once

#include <cstdint>

#include "harness/record/plan.h"
#include "harness/run/arms.h"
#include "harness/run/session.h"

namespace abba::run {

enum class BlockEnd { kDone, kTainted, kWorkerFailed, kStopped };

struct BlockResult {
  BlockEnd end = BlockEnd::kDone;
  std::string text;     // why it failed or was stopped; the taint
  record::Block block;  // as committed
};

BlockResult run_block(Session& session, Arms& arms, std::int64_t pass_id, record::Phase phase,
                      const record::PlannedBlock& planned, const record::SlotCounts& counts);

}  // namespace abba::run
