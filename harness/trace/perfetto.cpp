#include "harness/trace/perfetto.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "engine/base/json.h"

namespace abba::trace {
namespace {

// Perfetto names rows by number within a process: ours in this order.
enum class Row { kRequests, kThread, kStream };

class Events {
 public:
  explicit Events(std::string& out) : out_(out) {}

  void begin_process(int process, const Shown& shown) {
    process_ = process;
    rows_.clear();
    origin_ns_ = shown.windows.empty() ? 0 : shown.windows.front().start_ns;
    metadata("process_name", 0, shown.title);
  }

  // `arguments`: the inside of a JSON object, or nothing.
  void complete(int row, const std::string& name, std::int64_t start_ns, std::int64_t end_ns,
                const std::string& arguments = "") {
    begin_event();
    out_ += "{\"ph\":\"X\",\"pid\":" + std::to_string(process_) +
            ",\"tid\":" + std::to_string(row) + ",\"ts\":" + microseconds(start_ns - origin_ns_) +
            ",\"dur\":" + microseconds(end_ns - start_ns) + ",\"name\":" + base::Json(name).dump();
    if (!arguments.empty()) {
      out_ += ",\"args\":{" + arguments + "}";
    }
    out_ += "}";
  }

  // The number of a row, which gets its name when it is first asked for.
  int row(Row kind, std::int64_t device, std::int64_t number) {
    const auto key = std::tuple(kind, device, number);
    const auto [known, is_new] = rows_.try_emplace(key, static_cast<int>(rows_.size()) + 1);
    if (is_new) {
      const std::string text = std::to_string(number);
      metadata("thread_name", known->second,
               kind == Row::kRequests ? "requests"
               : kind == Row::kThread ? "thread " + text
                                      : "device " + std::to_string(device) + ", stream " + text);
    }
    return known->second;
  }

 private:
  void begin_event() {
    out_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
  }

  void metadata(const char* what, int row, const std::string& name) {
    begin_event();
    out_ += std::string("{\"ph\":\"M\",\"name\":\"") + what +
            "\",\"pid\":" + std::to_string(process_) + ",\"tid\":" + std::to_string(row) +
            ",\"args\":{\"name\":" + base::Json(name).dump() + "}}";
  }

  static std::string microseconds(std::int64_t ns) {
    const char* sign = ns < 0 ? "-" : "";
    const std::int64_t size = ns < 0 ? -ns : ns;
    char text[40];
    std::snprintf(text, sizeof text, "%s%lld.%03lld", sign, static_cast<long long>(size / 1000),
                  static_cast<long long>(size % 1000));
    return text;
  }

  std::string& out_;
  bool is_first_ = true;
  int process_ = 0;
  std::int64_t origin_ns_ = 0;
  std::map<std::tuple<Row, std::int64_t, std::int64_t>, int> rows_;
};

std::string three(const std::array<std::int64_t, 3>& size) {
  return "[" + std::to_string(size[0]) + "," + std::to_string(size[1]) + "," +
         std::to_string(size[2]) + "]";
}

void add_kernels(Events& events, const record::Trace& trace) {
  for (const auto& kernel : trace.kernels) {
    std::string arguments =
        "\"grid\":" + three(kernel.grid) + ",\"block\":" + three(kernel.block) +
        ",\"registers\":" + std::to_string(kernel.registers) +
        ",\"static_shared_bytes\":" + std::to_string(kernel.static_shared_bytes) +
        ",\"dynamic_shared_bytes\":" + std::to_string(kernel.dynamic_shared_bytes) +
        ",\"correlation\":" + std::to_string(kernel.correlation);
    if (kernel.graph_node != 0) {
      arguments += ",\"graph_node\":" + std::to_string(kernel.graph_node);
    }
    events.complete(events.row(Row::kStream, kernel.device, kernel.stream), kernel.name,
                    kernel.start_ns, kernel.end_ns, arguments);
  }
}

void add_rest(Events& events, const record::Trace& trace) {
  for (const auto& copy : trace.copies) {
    events.complete(events.row(Row::kStream, copy.device, copy.stream), "copy " + copy.kind,
                    copy.start_ns, copy.end_ns, "\"bytes\":" + std::to_string(copy.bytes));
  }
  for (const auto& range : trace.ranges) {
    events.complete(events.row(Row::kThread, 0, range.thread), range.name, range.start_ns,
                    range.end_ns);
  }
  for (const auto& call : trace.calls) {
    events.complete(events.row(Row::kThread, 0, call.thread), call.name, call.start_ns, call.end_ns,
                    "\"correlation\":" + std::to_string(call.correlation));
  }
}

}  // namespace

std::string perfetto_json(const std::vector<Shown>& slots) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  Events events(out);
  int process = 0;
  for (const Shown& shown : slots) {
    events.begin_process(++process, shown);
    const int requests = events.row(Row::kRequests, 0, 0);
    for (std::size_t i = 0; i < shown.windows.size(); ++i) {
      events.complete(requests, "request " + std::to_string(i + 1), shown.windows[i].start_ns,
                      shown.windows[i].end_ns);
    }
    add_rest(events, shown.trace);
    add_kernels(events, shown.trace);
  }
  return out + "\n]}\n";
}

}  // namespace abba::trace
