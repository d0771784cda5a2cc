// The traces of a run for people and for programs: what `abba trace` prints, and the report's
// section in short. Counts and shares are what to read: a traced time is no measurement.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/report/document.h"
#include "harness/trace/traced_run.h"

namespace abba::report {

// Every table of the chosen slots, as Markdown.
[[nodiscard]] std::string traces_markdown(const record::RunRecord& run,
                                          const std::vector<trace::TracedSlot>& slots);

// The same for programs, schema "abba.trace/1", pretty-printed.
[[nodiscard]] std::string traces_json(const record::RunRecord& run,
                                      const std::vector<trace::TracedSlot>& slots);

// One row a slot: times, launches, where a request's time went.
void add_trace_overview(const std::vector<trace::TracedSlot>& slots, Document& document);
// The kernels of a slot, those with the most time first, at most `most` rows and one for the rest.
void add_trace_kernels(const trace::TracedSlot& slot, std::size_t most, Document& document);
// One line a slot: whether it is whole, what was asked for, CUPTI's version, records
// lost; and the driver's version.
void add_trace_standing(const record::RunRecord& run, const std::vector<trace::TracedSlot>& slots,
                        Document& document);
// What each range launched, folded away; nothing if there are no ranges.
void add_trace_ranges(const trace::TracedSlot& slot, Document& document);
// Per workload that both arms were traced on: the kernels whose count or time changed most.
void add_trace_differences(const std::vector<trace::TracedSlot>& slots, std::size_t most,
                           Document& document);

}  // namespace abba::report
