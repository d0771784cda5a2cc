#include "harness/trace/range_tree.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

namespace abba::trace {
namespace {

constexpr std::size_t kDepth = 64;  // of ranges in ranges; deeper ones count as their parent
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// The rows of all ranges and, of one thread, which are open.
class Tree {
 public:
  // A range begins, not before the last one.
  void open(const record::TraceRange& range) {
    close_until(range.start_ns);
    if (open_.size() >= kDepth) {
      return;
    }
    while (!open_.empty() && open_.back().end_ns < range.end_ns) {
      open_.pop_back();  // they overlap and neither holds the other: no parent of it
    }
    const std::size_t parent = open_.empty() ? kNone : open_.back().row;
    const std::size_t row = row_of(parent, range.name);
    ++rows_[row].count;
    rows_[row].host_ns += static_cast<double>(range.end_ns - range.start_ns);
    open_.push_back({row, range.end_ns});
  }

  // The row of the innermost range that is open then.
  std::size_t innermost(std::int64_t at) {
    close_until(at);
    return open_.empty() ? kNone : open_.back().row;
  }

  void end_thread() { open_.clear(); }

  [[nodiscard]] std::vector<RangeRow> in_order() const {
    std::vector<RangeRow> ordered;
    append(outermost_, ordered);
    return ordered;
  }

  void add_kernel(std::size_t row, double ns) {
    for (; row != kNone; row = parents_[row]) {
      ++rows_[row].launches;
      rows_[row].kernel_ns += ns;
    }
  }

 private:
  struct Open {
    std::size_t row;
    std::int64_t end_ns;
  };

  void close_until(std::int64_t at) {
    while (!open_.empty() && open_.back().end_ns < at) {
      open_.pop_back();
    }
  }

  std::size_t row_of(std::size_t parent, const std::string& name) {
    const auto [known, is_new] = places_.try_emplace({parent, name}, rows_.size());
    if (is_new) {
      rows_.emplace_back();
      rows_.back().name = name;
      rows_.back().depth = parent == kNone ? 0 : rows_[parent].depth + 1;
      parents_.push_back(parent);
      inside_.emplace_back();
      (parent == kNone ? outermost_ : inside_[parent]).push_back(rows_.size() - 1);
    }
    return known->second;
  }

  // At most kDepth calls deep.
  void append(const std::vector<std::size_t>& places, std::vector<RangeRow>& to) const {
    for (const std::size_t place : places) {
      to.push_back(rows_[place]);
      append(inside_[place], to);
    }
  }

  std::vector<RangeRow> rows_;
  std::vector<Open> open_;
  std::vector<std::size_t> parents_;
  std::vector<std::size_t> outermost_;
  std::vector<std::vector<std::size_t>> inside_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> places_;
};

template <typename Record>
std::map<std::int64_t, std::vector<const Record*>> by_thread(const std::vector<Record>& records) {
  std::map<std::int64_t, std::vector<const Record*>> threads;
  for (const Record& record : records) {
    threads[record.thread].push_back(&record);
  }
  return threads;
}

}  // namespace

std::vector<RangeRow> range_rows(const record::Trace& trace) {
  if (trace.ranges.empty()) {
    return {};
  }
  Tree tree;
  std::unordered_map<std::int64_t, std::size_t> launched_in;  // correlation -> row
  const auto calls = by_thread(trace.calls);
  for (const auto& [thread, ranges] : by_thread(trace.ranges)) {
    auto range = ranges.begin();
    const auto of_thread = calls.find(thread);
    if (of_thread != calls.end()) {
      for (const record::TraceApi* call : of_thread->second) {
        for (; range != ranges.end() && (*range)->start_ns <= call->start_ns; ++range) {
          tree.open(**range);
        }
        launched_in.try_emplace(call->correlation, tree.innermost(call->start_ns));
      }
    }
    for (; range != ranges.end(); ++range) {
      tree.open(**range);
    }
    tree.end_thread();
  }
  RangeRow outside;
  for (const auto& kernel : trace.kernels) {
    const double ns = static_cast<double>(kernel.end_ns - kernel.start_ns);
    const auto row = launched_in.find(kernel.correlation);
    if (row != launched_in.end() && row->second != kNone) {
      tree.add_kernel(row->second, ns);
    } else {
      ++outside.launches;
      outside.kernel_ns += ns;
    }
  }
  std::vector<RangeRow> rows = tree.in_order();
  if (outside.launches > 0) {
    rows.push_back(outside);
  }
  return rows;
}

}  // namespace abba::trace
