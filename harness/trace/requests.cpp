#include "harness/trace/requests.h"

#include <algorithm>

namespace abba::trace {
namespace {

// A range that the worker opens around its own clock begins a little before the request does, and
// the two clocks are paired to some microseconds.
constexpr std::int64_t kSlackNs = 20'000;

template <typename Record>
bool is_of(const Record&, const Window&) {
  return true;
}

bool is_of(const record::TraceRange& range, const Window& window) {
  return range.start_ns >= window.start_ns - kSlackNs && range.end_ns <= window.end_ns + kSlackNs;
}

// Of each record the index of its window, or windows.size().
template <typename Record>
std::vector<std::size_t> places(const std::vector<Record>& records,
                                const std::vector<Window>& windows) {
  std::vector<std::size_t> result;
  result.reserve(records.size());
  for (const Record& record : records) {
    const std::size_t place = window_of(windows, record.start_ns, record.end_ns);
    const bool belongs = place < windows.size() && is_of(record, windows[place]);
    result.push_back(belongs ? place : windows.size());
  }
  return result;
}

void count(const std::vector<std::size_t>& places, std::vector<std::size_t>& rows) {
  for (const std::size_t place : places) {
    ++rows[place];
  }
}

template <typename Record>
std::vector<Record> first_requests(const std::vector<Record>& records,
                                   const std::vector<std::size_t>& places, std::size_t requests) {
  std::vector<Record> kept;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (places[i] < requests) {
      kept.push_back(records[i]);
    }
  }
  return kept;
}

}  // namespace

std::vector<Window> windows_of(const record::Slot& slot, std::size_t most) {
  std::vector<Window> windows;
  for (const record::Sample& sample : slot.samples) {
    const bool counts = !sample.warmup && sample.status == record::SampleStatus::kOk;
    const bool is_time = sample.start_ns >= 0 && sample.start_ns <= record::kLatestNs &&
                         sample.duration_ns >= 0 && sample.duration_ns <= record::kLatestNs;
    if (counts && is_time && windows.size() < most) {
      windows.push_back({sample.start_ns, sample.start_ns + sample.duration_ns});
    }
  }
  std::sort(windows.begin(), windows.end(),
            [](const Window& a, const Window& b) { return a.start_ns < b.start_ns; });
  return windows;
}

std::size_t window_of(const std::vector<Window>& windows, std::int64_t start_ns,
                      std::int64_t end_ns) {
  const std::int64_t middle = start_ns + (end_ns - start_ns) / 2;
  const auto after =
      std::upper_bound(windows.begin(), windows.end(), middle,
                       [](std::int64_t ns, const Window& window) { return ns < window.start_ns; });
  if (after == windows.begin() || (after - 1)->end_ns < middle) {
    return windows.size();
  }
  return static_cast<std::size_t>(after - windows.begin()) - 1;
}

Kept keep_requests(const record::Trace& all, const std::vector<Window>& windows,
                   std::size_t max_rows) {
  const auto kernels = places(all.kernels, windows);
  const auto copies = places(all.copies, windows);
  const auto calls = places(all.calls, windows);
  const auto ranges = places(all.ranges, windows);
  std::vector<std::size_t> rows(windows.size() + 1, 0);
  for (const auto* list : {&kernels, &copies, &calls, &ranges}) {
    count(*list, rows);
  }
  Kept kept;
  std::size_t total = 0;
  while (kept.requests < windows.size() && total + rows[kept.requests] <= max_rows) {
    total += rows[kept.requests++];
  }
  for (std::size_t i = kept.requests; i < windows.size(); ++i) {
    kept.cut += rows[i];
  }
  kept.rows.kernels = first_requests(all.kernels, kernels, kept.requests);
  kept.rows.copies = first_requests(all.copies, copies, kept.requests);
  kept.rows.calls = first_requests(all.calls, calls, kept.requests);
  kept.rows.ranges = first_requests(all.ranges, ranges, kept.requests);
  return kept;
}

}  // namespace abba::trace
