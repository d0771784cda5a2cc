#include "harness/report/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/json.h"
#include "harness/report/format.h"

namespace abba::report {
namespace {

using base::Json;
using trace::TracedSlot;

constexpr std::size_t kNameColumns = 90;  // a longer kernel name is cut in a table
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

std::string percent(double fraction) {
  return fmt::format("{:.1f} %", 100 * fraction);
}

std::string cut(std::string text) {
  if (text.size() <= kNameColumns) {
    return text;
  }
  std::size_t end = kNameColumns;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;  // not inside a character of several bytes
  }
  return text.substr(0, end) + "…";
}

Inline kernel_cell(const std::string& name) {
  return code(cut(trace::short_name(name)));
}

std::string title_of(const TracedSlot& slot) {
  return slot.workload + ", arm " + slot.slot->arm;
}

void add_copies(const TracedSlot& slot, Document& document) {
  Table table;
  table.head = {"copies of " + title_of(slot), "a request", "bytes a request", "time a request"};
  for (const trace::CopyRow& row : slot.summary.copies) {
    table.rows.push_back({plain(row.kind),
                          plain(number(slot.summary.per_request(static_cast<double>(row.count)))),
                          plain(number(slot.summary.per_request(row.bytes))),
                          plain(time_text(slot.summary.per_request(row.total_ns)))});
  }
  if (!table.rows.empty()) {
    document.add(std::move(table));
  }
}

void add_calls(const TracedSlot& slot, Document& document) {
  Table table;
  table.head = {"calls of " + title_of(slot), "a request", "time a request"};
  for (const trace::CallRow& row : slot.summary.calls) {
    table.rows.push_back({code(row.name),
                          plain(number(slot.summary.per_request(static_cast<double>(row.count)))),
                          plain(time_text(slot.summary.per_request(row.total_ns)))});
  }
  if (!table.rows.empty()) {
    document.add(std::move(table));
  }
}

std::string whole(double value) {
  return fmt::format("{:.0f}", value);
}

// What is known of how a slot was traced.
std::string standing_of(const TracedSlot& slot) {
  return slot.status + " (" + slot.mode + "), CUPTI " + whole(slot.cupti) + "; " +
         whole(slot.dropped) + " records dropped, " + whole(slot.cut) + " beyond a bound, " +
         whole(slot.strange) + " without a valid time";
}

void add_ranges(const TracedSlot& slot, const std::string& fold, Document& document) {
  Table table;
  table.fold = fold;
  table.head = {"ranges of " + title_of(slot), "a request", "host time", "launches", "kernel time"};
  for (const trace::RangeRow& row : slot.summary.ranges) {
    std::string name;
    for (std::size_t i = 0; i < row.depth; ++i) name += "· ";
    name += row.name.empty() ? "(outside of every range)" : row.name;
    const auto a_request = [&](double total) { return slot.summary.per_request(total); };
    table.rows.push_back({plain(name), plain(number(a_request(static_cast<double>(row.count)))),
                          plain(time_text(a_request(row.host_ns))),
                          plain(number(a_request(static_cast<double>(row.launches)))),
                          plain(time_text(a_request(row.kernel_ns)))});
  }
  if (!table.rows.empty()) {
    document.add(std::move(table));
  }
}

Json closure_json(const trace::Closure& closure) {
  return Json::object({{"wall_ns", closure.wall},
                       {"kernels_ns", closure.kernels},
                       {"copies_ns", closure.copies},
                       {"overlapped_ns", closure.overlapped},
                       {"busy_ns", closure.busy},
                       {"idle_before_ns", closure.before},
                       {"idle_between_ns", closure.between},
                       {"idle_after_ns", closure.after},
                       {"launches", closure.launches}});
}

// The tables of a slot, each row with totals over `requests` requests.
void set_tables(const trace::Summary& summary, Json& json) {
  Json kernels = Json::array();
  for (const trace::KernelRow& row : summary.kernels) {
    kernels.push_back(Json::object({{"name", row.name},
                                    {"count", row.count},
                                    {"total_ns", row.total_ns},
                                    {"mean_ns", row.mean_ns()},
                                    {"min_ns", row.min_ns},
                                    {"max_ns", row.max_ns},
                                    {"share", row.share}}));
  }
  Json copies = Json::array();
  for (const trace::CopyRow& row : summary.copies) {
    copies.push_back(Json::object({{"kind", row.kind},
                                   {"count", row.count},
                                   {"bytes", row.bytes},
                                   {"total_ns", row.total_ns}}));
  }
  Json calls = Json::array();
  for (const trace::CallRow& row : summary.calls) {
    calls.push_back(
        Json::object({{"name", row.name}, {"count", row.count}, {"total_ns", row.total_ns}}));
  }
  Json ranges = Json::array();
  for (const trace::RangeRow& row : summary.ranges) {
    ranges.push_back(Json::object({{"name", row.name},
                                   {"depth", static_cast<std::int64_t>(row.depth)},
                                   {"count", row.count},
                                   {"host_ns", row.host_ns},
                                   {"launches", row.launches},
                                   {"kernel_ns", row.kernel_ns}}));
  }
  json.set("kernels", std::move(kernels));
  json.set("copies", std::move(copies));
  json.set("calls", std::move(calls));
  json.set("ranges", std::move(ranges));
}

Json slot_json(const TracedSlot& slot) {
  Json json = Json::object({{"workload", slot.workload},
                            {"arm", slot.slot->arm},
                            {"boundary", slot.boundary},
                            {"status", slot.status},
                            {"mode", slot.mode},
                            {"cupti_version", slot.cupti},
                            {"dropped", slot.dropped},
                            {"cut", slot.cut},
                            {"strange", slot.strange},
                            {"requests", static_cast<std::int64_t>(slot.windows.size())},
                            {"traced_ns", slot.traced_ns},
                            {"untraced_ns", slot.untraced_ns},
                            {"ratio", slot.ratio()}});
  json.set("declared_launches", slot.declared_launches < 0 ? Json() : Json(slot.declared_launches));
  json.set("typical_request", closure_json(slot.summary.typical));
  set_tables(slot.summary, json);
  return json;
}

}  // namespace

void add_trace_overview(const std::vector<TracedSlot>& slots, Document& document) {
  Table table;
  table.head = {"workload",    "arm",           "requests", "untraced",
                "traced",      "ratio",         "launches", "declared",
                "kernel time", "copy time",     "idle",     "before the first",
                "between",     "after the last"};
  table.first_number = 2;
  for (const TracedSlot& slot : slots) {
    const trace::Closure& typical = slot.summary.typical;
    const bool known = slot.untraced_ns > 0;
    const auto time = [](double ns) { return plain(time_text(ns)); };
    table.rows.push_back(
        {plain(slot.workload), plain(slot.slot->arm), plain(std::to_string(slot.windows.size())),
         known ? time(slot.untraced_ns) : plain("not measured"), time(slot.traced_ns),
         plain(known ? fmt::format("{:.3f}", slot.ratio()) : ""),
         plain(count_text(typical.launches)),
         plain(slot.declared_launches < 0 ? "" : count_text(slot.declared_launches)),
         time(typical.kernels), time(typical.copies), time(typical.gaps()), time(typical.before),
         time(typical.between), time(typical.after)});
  }
  document.add(std::move(table));
  document.paragraph(
      "Of one request, the median over those traced. A request is the time in which a kernel or a "
      "copy ran, and idle time: before the first of them, between them, after the last. "
      "Declared launches are what the worker says of the boundary that it counts.");
}

void add_trace_kernels(const TracedSlot& slot, std::size_t most, Document& document) {
  const trace::Summary& summary = slot.summary;
  Table table;
  table.head = {"kernels of " + title_of(slot),
                "a request",
                "mean",
                "least",
                "most",
                "time a request",
                "share"};
  trace::KernelRow rest;
  std::size_t others = 0;
  for (const trace::KernelRow& row : summary.kernels) {
    if (table.rows.size() >= most) {
      ++others;
      rest.count += row.count;
      rest.total_ns += row.total_ns;
      rest.share += row.share;
      continue;
    }
    table.rows.push_back(
        {kernel_cell(row.name), plain(number(summary.per_request(static_cast<double>(row.count)))),
         plain(time_text(row.mean_ns())), plain(time_text(row.min_ns)),
         plain(time_text(row.max_ns)), plain(time_text(summary.per_request(row.total_ns))),
         plain(percent(row.share))});
  }
  if (others > 0) {
    table.rows.push_back({plain(std::to_string(others) + " others"),
                          plain(number(summary.per_request(static_cast<double>(rest.count)))),
                          plain(time_text(rest.mean_ns())), plain(""), plain(""),
                          plain(time_text(summary.per_request(rest.total_ns))),
                          plain(percent(rest.share))});
  }
  if (table.rows.empty()) {
    document.paragraph("No kernel ran in the requests of " + title_of(slot) + ".");
  } else {
    document.add(std::move(table));
  }
}

void add_trace_differences(const std::vector<TracedSlot>& slots, std::size_t most,
                           Document& document) {
  for (std::size_t i = 0; i + 1 < slots.size(); ++i) {
    const TracedSlot& a = slots[i];
    const TracedSlot& b = slots[i + 1];
    if (a.workload != b.workload || a.slot->arm == b.slot->arm) {
      continue;
    }
    const auto changed = trace::difference(a.summary, b.summary);
    Table table;
    table.head = {
        "from A to B, " + a.workload, "count in A", "in B", "time in A", "in B", "change"};
    for (const trace::DifferenceRow& row : changed) {
      if (table.rows.size() >= most) {
        break;
      }
      const char* sign = row.delta_ns() < 0 ? "−" : "+";
      table.rows.push_back({kernel_cell(row.name), plain(number(row.count_a)),
                            plain(number(row.count_b)), plain(time_text(row.ns_a)),
                            plain(time_text(row.ns_b)),
                            plain(sign + time_text(std::abs(row.delta_ns())))});
    }
    if (table.rows.empty()) {
      document.paragraph("On " + a.workload + " both arms ran the same kernels alike.");
    } else {
      document.add(std::move(table));
    }
  }
}

void add_trace_standing(const record::RunRecord& run, const std::vector<TracedSlot>& slots,
                        Document& document) {
  const auto& bindings = run.bindings;
  const auto driver = std::find_if(bindings.begin(), bindings.end(),
                                   [](const auto& b) { return b.name == "device/driver"; });
  Bullets bullets;
  for (const TracedSlot& slot : slots) {
    bullets.items.push_back({strong(title_of(slot)), plain(": " + standing_of(slot))});
  }
  if (driver != bindings.end()) {
    bullets.items.push_back({plain("driver " + driver->value)});
  }
  document.add(std::move(bullets));
}

void add_trace_ranges(const TracedSlot& slot, Document& document) {
  add_ranges(slot, "Ranges of " + title_of(slot), document);
}

std::string traces_markdown(const record::RunRecord& run, const std::vector<TracedSlot>& slots) {
  Document document;
  document.title = "Traces of " + run.run_id;
  add_trace_standing(run, slots, document);
  add_trace_overview(slots, document);
  for (const TracedSlot& slot : slots) {
    document.heading(title_of(slot));
    add_trace_kernels(slot, kAll, document);
    add_copies(slot, document);
    add_calls(slot, document);
    add_ranges(slot, "", document);
  }
  document.heading("Differences");
  add_trace_differences(slots, kAll, document);
  return render_markdown(document);
}

std::string traces_json(const record::RunRecord& run, const std::vector<TracedSlot>& slots) {
  Json json = Json::object({{"schema", "abba.trace/1"}, {"run", run.run_id}});
  Json list = Json::array();
  for (const TracedSlot& slot : slots) {
    list.push_back(slot_json(slot));
  }
  json.set("slots", std::move(list));
  return json.dump_pretty();
}

}  // namespace abba::report
