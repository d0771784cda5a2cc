// A slot's trace as tables: what ran on the device, how often a request and for how long, where the
// request's time went that no kernel fills, and which range launched what. Pure functions of the
// stored rows; every figure is of complete requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/trace/requests.h"

namespace abba::trace {

// Where one request's wall time went, nanoseconds: wall = busy + before + between + after, and
// busy = kernels + copies - overlapped.
struct Closure {
  double wall = 0;
  double kernels = 0;     // sum of all kernels
  double copies = 0;      // sum of all copies and memory sets
  double overlapped = 0;  // counted more than once in the two above
  double busy = 0;        // at least one of them ran
  double before = 0;      // idle until the first one
  double between = 0;     // idle between two
  double after = 0;       // idle after the last one
  std::int64_t launches = 0;

  [[nodiscard]] double gaps() const { return before + between + after; }
};

struct KernelRow {
  std::string name;
  std::int64_t count = 0;
  double total_ns = 0;
  double min_ns = 0;
  double max_ns = 0;
  double share = 0;  // of all kernels' time

  [[nodiscard]] double mean_ns() const { return total_ns / static_cast<double>(count); }
};

struct CopyRow {
  std::string kind;
  std::int64_t count = 0;
  double bytes = 0;
  double total_ns = 0;
};

struct CallRow {
  std::string name;
  std::int64_t count = 0;
  double total_ns = 0;
};

// All ranges of one name at one place among the ranges around them. A last row without a name holds
// the kernels that no range launched.
struct RangeRow {
  std::string name;
  std::size_t depth = 0;  // its parent is the nearest row above of depth - 1
  std::int64_t count = 0;
  double host_ns = 0;         // from begin to end, of all of them
  std::int64_t launches = 0;  // of kernels, in it or in a range inside it
  double kernel_ns = 0;       // of those
};

struct Summary {
  std::vector<Closure> requests;
  Closure typical;                 // each figure the median over the requests
  std::vector<KernelRow> kernels;  // most time first
  std::vector<CopyRow> copies;
  std::vector<CallRow> calls;
  std::vector<RangeRow> ranges;  // each before those inside it, else as they first occur

  [[nodiscard]] double per_request(double total) const {
    return requests.empty() ? 0 : total / static_cast<double>(requests.size());
  }
};

Summary summarize(const record::Trace& trace, const std::vector<Window>& windows);

// A kernel of either arm, counts and nanoseconds a request.
struct DifferenceRow {
  std::string name;
  double count_a = 0;
  double count_b = 0;
  double ns_a = 0;
  double ns_b = 0;

  [[nodiscard]] double delta_ns() const { return ns_b - ns_a; }
};

// Kernels whose count or time differs, the largest change of time first.
std::vector<DifferenceRow> difference(const Summary& a, const Summary& b);

// Without its parameters and return type: "layer_norm_kernel<float, 4>".
std::string short_name(const std::string& kernel);

}  // namespace abba::trace
