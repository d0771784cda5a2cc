#include "harness/trace/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/base/median.h"
#include "harness/trace/range_tree.h"

namespace abba::trace {
namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;

double length(std::int64_t start_ns, std::int64_t end_ns) {
  return static_cast<double>(end_ns - start_ns);
}

// The idle stretches of a request whose device was busy in `intervals`; what of them lies outside
// the request (the clocks are paired to some microseconds) is not of it.
void close(std::vector<Interval>& intervals, const Window& window, Closure& closure) {
  std::sort(intervals.begin(), intervals.end());
  std::int64_t covered = window.start_ns;
  bool is_first = true;
  for (const auto& [start, end] : intervals) {
    const std::int64_t from = std::clamp(start, window.start_ns, window.end_ns);
    const std::int64_t to = std::clamp(end, window.start_ns, window.end_ns);
    if (from > covered) {
      (is_first ? closure.before : closure.between) += length(covered, from);
      covered = from;
    }
    is_first = false;
    if (to > covered) {
      closure.busy += length(covered, to);
      covered = to;
    }
  }
  (is_first ? closure.before : closure.after) += length(covered, window.end_ns);
  closure.overlapped = closure.kernels + closure.copies - closure.busy;
}

std::vector<Closure> closures(const record::Trace& trace, const std::vector<Window>& windows) {
  std::vector<Closure> result(windows.size());
  std::vector<std::vector<Interval>> busy(windows.size());
  for (const auto& kernel : trace.kernels) {
    const std::size_t place = window_of(windows, kernel.start_ns, kernel.end_ns);
    if (place < windows.size()) {
      ++result[place].launches;
      result[place].kernels += length(kernel.start_ns, kernel.end_ns);
      busy[place].emplace_back(kernel.start_ns, kernel.end_ns);
    }
  }
  for (const auto& copy : trace.copies) {
    const std::size_t place = window_of(windows, copy.start_ns, copy.end_ns);
    if (place < windows.size()) {
      result[place].copies += length(copy.start_ns, copy.end_ns);
      busy[place].emplace_back(copy.start_ns, copy.end_ns);
    }
  }
  for (std::size_t i = 0; i < windows.size(); ++i) {
    result[i].wall = length(windows[i].start_ns, windows[i].end_ns);
    close(busy[i], windows[i], result[i]);
  }
  return result;
}

Closure typical_of(const std::vector<Closure>& requests) {
  const auto of = [&](auto member) {
    std::vector<double> values;
    for (const Closure& request : requests) {
      values.push_back(static_cast<double>(request.*member));
    }
    return values.empty() ? 0 : base::median(std::move(values));
  };
  Closure typical;
  typical.wall = of(&Closure::wall);
  typical.kernels = of(&Closure::kernels);
  typical.copies = of(&Closure::copies);
  typical.overlapped = of(&Closure::overlapped);
  typical.busy = of(&Closure::busy);
  typical.before = of(&Closure::before);
  typical.between = of(&Closure::between);
  typical.after = of(&Closure::after);
  typical.launches = std::llround(of(&Closure::launches));
  return typical;
}

template <typename Row>
void by_total(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.total_ns > b.total_ns; });
}

std::vector<KernelRow> kernel_rows(const record::Trace& trace) {
  std::map<std::string, KernelRow> by_name;
  double total = 0;
  for (const auto& kernel : trace.kernels) {
    const double ns = length(kernel.start_ns, kernel.end_ns);
    KernelRow& row = by_name[kernel.name];
    row.min_ns = row.count == 0 ? ns : std::min(row.min_ns, ns);
    row.max_ns = std::max(row.max_ns, ns);
    row.total_ns += ns;
    ++row.count;
    total += ns;
  }
  std::vector<KernelRow> rows;
  for (auto& [name, row] : by_name) {
    row.name = name;
    row.share = total > 0 ? row.total_ns / total : 0;
    rows.push_back(row);
  }
  by_total(rows);
  return rows;
}

std::vector<CopyRow> copy_rows(const record::Trace& trace) {
  std::map<std::string, CopyRow> by_kind;
  for (const auto& copy : trace.copies) {
    CopyRow& row = by_kind[copy.kind];
    ++row.count;
    row.bytes += static_cast<double>(copy.bytes);
    row.total_ns += length(copy.start_ns, copy.end_ns);
  }
  std::vector<CopyRow> rows;
  for (auto& [kind, row] : by_kind) {
    row.kind = kind;
    rows.push_back(row);
  }
  by_total(rows);
  return rows;
}

std::vector<CallRow> call_rows(const record::Trace& trace) {
  std::map<std::string, CallRow> by_name;
  for (const auto& call : trace.calls) {
    CallRow& row = by_name[call.name];
    ++row.count;
    row.total_ns += length(call.start_ns, call.end_ns);
  }
  std::vector<CallRow> rows;
  for (auto& [name, row] : by_name) {
    row.name = name;
    rows.push_back(row);
  }
  by_total(rows);
  return rows;
}

}  // namespace

Summary summarize(const record::Trace& trace, const std::vector<Window>& windows) {
  Summary summary;
  summary.requests = closures(trace, windows);
  summary.typical = typical_of(summary.requests);
  summary.kernels = kernel_rows(trace);
  summary.copies = copy_rows(trace);
  summary.calls = call_rows(trace);
  summary.ranges = range_rows(trace);
  return summary;
}

std::vector<DifferenceRow> difference(const Summary& a, const Summary& b) {
  std::map<std::string, DifferenceRow> by_name;
  for (const KernelRow& row : a.kernels) {
    by_name[row.name].count_a = a.per_request(static_cast<double>(row.count));
    by_name[row.name].ns_a = a.per_request(row.total_ns);
  }
  for (const KernelRow& row : b.kernels) {
    by_name[row.name].count_b = b.per_request(static_cast<double>(row.count));
    by_name[row.name].ns_b = b.per_request(row.total_ns);
  }
  std::vector<DifferenceRow> rows;
  for (auto& [name, row] : by_name) {
    if (row.count_a != row.count_b || row.ns_a != row.ns_b) {
      row.name = name;
      rows.push_back(row);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& x, const auto& y) {
    return std::abs(x.delta_ns()) > std::abs(y.delta_ns());
  });
  return rows;
}

std::string short_name(const std::string& kernel) {
  // The parameter list is the last pair of parentheses outside of template arguments.
  std::size_t end = kernel.size();
  int depth = 0;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    depth += kernel[i] == '<' ? 1 : kernel[i] == '>' ? -1 : 0;
    if (kernel[i] == '(' && depth == 0 && i > 0 && kernel.compare(i, 11, "(anonymous ") != 0) {
      end = i;
      break;
    }
  }
  const std::string name = kernel.substr(0, end);
  return name.rfind("void ", 0) == 0 ? name.substr(5) : name;
}

}  // namespace abba::trace
