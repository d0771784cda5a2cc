#include "harness/report/traces.h"

#include "harness/report/sections/sections.h"

namespace abba::report {
namespace {

constexpr std::size_t kKernels = 12;
constexpr std::size_t kDifferences = 12;

}  // namespace

// Only where traces were asked for: most experiments need none.
void traces_section(const Source& source, Document& document) {
  if (!source.run.manifest.traces.is_object()) {
    return;
  }
  document.heading("Traces");
  const auto slots = trace::traced_slots(source.run);
  if (slots.empty()) {
    document.paragraph("None was recorded; the notes say why.");
    return;
  }
  document.paragraph(
      "Recorded after everything was measured, in workers of their own with a tracer in them. It "
      "slows what it records (the ratio says how much), so counts and shares are to be read, not "
      "times; nothing here enters a verdict.");
  add_trace_standing(source.run, slots, document);
  add_trace_overview(slots, document);
  for (const trace::TracedSlot& slot : slots) {
    add_trace_kernels(slot, kKernels, document);
    add_trace_ranges(slot, document);
  }
  add_trace_differences(slots, kDifferences, document);
}

}  // namespace abba::report
