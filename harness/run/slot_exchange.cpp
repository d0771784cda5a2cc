#include "harness/run/slot_exchange.h"

#include <utility>

namespace abba::run {

// The slot's number and its place in the block, which an injected effect may ask for.
record::SlotRequest slot_request(const Session& session, const record::Slot& slot,
                                 const std::vector<std::string>& boundaries,
                                 const record::SlotCounts& counts) {
  const auto& protocol = session.in.manifest.protocol;
  record::SlotRequest request;
  request.slot_id = std::to_string(slot.id) + "/s" + std::to_string(slot.position);
  request.workload = counts.workload;
  request.boundaries = boundaries;
  request.warmup = counts.warmup;
  request.requests = counts.requests;
  request.expected_s =
      session.expected_slot_s(slot.arm, counts.workload, counts.warmup + counts.requests);
  if (protocol.arrival == record::Arrival::kPaced) {
    request.interval_ms = protocol.interval_ms;
  }
  request.flush = protocol.cache == record::kFlushCaches;
  return request;
}

void keep_answer(record::Slot& slot, record::SlotReply reply) {
  slot.samples = std::move(reply.samples);
  slot.spans = std::move(reply.spans);
  slot.values = std::move(reply.values);
  slot.allocations = reply.allocations;
  slot.failures = reply.failures;
  slot.digest = std::move(reply.digest);
}

}  // namespace abba::run
