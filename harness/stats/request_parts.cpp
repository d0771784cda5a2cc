#include "harness/stats/request_parts.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace abba::stats {
namespace {

// A run file from elsewhere may hold names that contain each other.
constexpr int kMostDepth = 16;
constexpr std::size_t kMostParts = 1000;

struct Total {
  std::string name;
  std::string owner;
  std::array<double, 2> duration_ns{};
};

struct Totals {
  std::string outermost;
  std::array<double, 2> request_ns{};
  std::array<double, 2> requests{};
  std::vector<Total> parts;

  void add(const record::Span& span, std::size_t arm) {
    auto found = std::find_if(parts.begin(), parts.end(), [&](const Total& total) {
      return total.name == span.name && total.owner == span.parent;
    });
    if (found == parts.end()) found = parts.insert(parts.end(), {span.name, span.parent, {}});
    found->duration_ns[arm] += static_cast<double>(span.duration_ns);
  }

  void add(const record::Slot& slot) {
    if (slot.failures > 0) return;
    const std::size_t arm = slot.arm == "A" ? 0 : 1;
    for (const record::Sample& sample : slot.samples) {
      if (sample.warmup) continue;
      request_ns[arm] += static_cast<double>(sample.duration_ns);
      ++requests[arm];
    }
    for (const record::Span& span : slot.spans) {
      if (span.seq < 0) add(span, arm);
    }
  }
};

Totals totals_of(const std::vector<const record::Pass*>& passes, const std::string& workload) {
  Totals totals;
  for (const record::Pass* pass : passes) {
    for (const record::Block& block : pass->blocks) {
      if (block.failed || block.workload != workload) continue;
      totals.outermost = block.boundary;
      for (const record::Slot& slot : block.slots) totals.add(slot);
    }
  }
  return totals;
}

// Appends the parts below `owner` and what they leave of it.
void append(const Totals& totals, const RequestPart& owner, std::vector<RequestPart>& parts) {
  RequestPart rest{"", owner.name, owner.depth + 1, owner.a_ns, owner.b_ns};
  bool has_parts = false;
  for (const Total& total : totals.parts) {
    if (total.owner != owner.name || owner.depth >= kMostDepth) continue;
    if (parts.size() >= kMostParts) break;
    const RequestPart part{total.name, owner.name, owner.depth + 1,
                           total.duration_ns[0] / totals.requests[0],
                           total.duration_ns[1] / totals.requests[1]};
    has_parts = true;
    rest.a_ns -= part.a_ns;
    rest.b_ns -= part.b_ns;
    parts.push_back(part);
    if (total.name != owner.name) append(totals, part, parts);
  }
  if (has_parts) parts.push_back(rest);
}

}  // namespace

std::vector<RequestPart> request_parts(const std::vector<const record::Pass*>& passes,
                                       const std::string& workload) {
  const Totals totals = totals_of(passes, workload);
  if (totals.requests[0] == 0 || totals.requests[1] == 0 || totals.parts.empty()) return {};
  std::vector<RequestPart> parts;
  const RequestPart request{totals.outermost, "", 0, totals.request_ns[0] / totals.requests[0],
                            totals.request_ns[1] / totals.requests[1]};
  parts.push_back(request);
  append(totals, request, parts);
  return parts;
}

}  // namespace abba::stats
