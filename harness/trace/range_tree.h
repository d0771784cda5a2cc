// Which range launched a kernel: the innermost one, on the thread that made the launch, that
// encloses the launch call; call and kernel are joined by their correlation. The kernels of a graph
// all carry that of the graph's launch.
#pragma once

#include <vector>

#include "harness/record/trace.h"
#include "harness/trace/summary.h"

namespace abba::trace {

// As Summary::ranges. `trace` in order of start.
std::vector<RangeRow> range_rows(const record::Trace& trace);

}  // namespace abba::trace
