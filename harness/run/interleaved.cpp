#include "harness/run/interleaved.h"

#include <algorithm>

namespace abba::run {
namespace {

// Totals (seq -1) of single requests add up by name; spans of one request get its number.
void add_spans(std::vector<record::Span>& spans, std::vector<record::Span> more, std::int64_t seq,
               bool warmup) {
  for (auto& span : more) {
    if (span.seq >= 0) {
      span.seq = seq;
      spans.push_back(std::move(span));
      continue;
    }
    if (warmup) {
      continue;
    }
    const auto same = std::find_if(spans.begin(), spans.end(), [&](const record::Span& other) {
      return other.seq < 0 && other.name == span.name && other.parent == span.parent;
    });
    if (same == spans.end()) {
      spans.push_back(std::move(span));
    } else {
      same->duration_ns += span.duration_ns;
      same->count += span.count;
    }
  }
}

}  // namespace

InterleavedSlots::InterleavedSlots(std::string cycle, const record::SlotCounts& counts)
    : cycle_(std::move(cycle)), counts_(counts) {
  for (const char letter : cycle_) {
    const std::string arm(1, letter);
    if (std::find(arms_.begin(), arms_.end(), arm) == arms_.end()) {
      arms_.push_back(arm);
    }
  }
}

bool InterleavedSlots::next(std::string& arm) {
  const std::int64_t wanted = counts_.warmup + counts_.requests;
  for (std::size_t tried = 0; tried < cycle_.size(); ++tried) {
    const std::string candidate(1, cycle_[position_]);
    position_ = (position_ + 1) % cycle_.size();
    if (done_[candidate] < wanted) {
      arm = candidate;
      return true;
    }
  }
  return false;
}

record::SlotRequest InterleavedSlots::request(const std::string& arm,
                                              record::SlotRequest whole) const {
  const auto done = done_.find(arm);
  const std::int64_t seq = done == done_.end() ? 0 : done->second;
  whole.max_spans =
      std::max<std::int64_t>(0, whole.max_spans - std::max<std::int64_t>(0, seq - counts_.warmup));
  whole.digest = seq + 1 == counts_.warmup + counts_.requests;
  whole.warmup = 0;
  whole.requests = 1;
  return whole;
}

void InterleavedSlots::take(const std::string& arm, record::SlotReply reply, record::Slot& slot) {
  std::int64_t& done = done_[arm];
  const std::int64_t seq = done++;
  const bool warmup = seq < counts_.warmup;
  for (auto& sample : reply.samples) {
    sample.seq = seq;
    sample.warmup = warmup;
    slot.samples.push_back(sample);
  }
  add_spans(slot.spans, std::move(reply.spans), seq, warmup);
  for (auto& value : reply.values) {
    value.seq = seq;
    slot.values.push_back(std::move(value));
  }
  if (reply.allocations >= 0 && !warmup) {
    slot.allocations = std::max<std::int64_t>(0, slot.allocations) + reply.allocations;
  }
  slot.failures += reply.failures;
  if (!reply.digest.empty()) {
    slot.digest = std::move(reply.digest);
  }
}

}  // namespace abba::run
