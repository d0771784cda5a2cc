// What a slot asks of a worker and what is kept of its answer: the same where it is measured and
// where it is traced, or the two times could not be compared.
#pragma once

#include <string>
#include <vector>

#include "harness/record/plan.h"
#include "harness/run/session.h"

namespace abba::run {

// `slot` has its id, position and arm.
[[nodiscard]] record::SlotRequest slot_request(const Session& session, const record::Slot& slot,
                                               const std::vector<std::string>& boundaries,
                                               const record::SlotCounts& counts);

// Samples, spans, values, counts and digest.
void keep_answer(record::Slot& slot, record::SlotReply reply);

}  // namespace abba::run
