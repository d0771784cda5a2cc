// Trace files of any bytes, through the reader and everything that is made of what it gives.
// Promises: a refusal that names the file, or rows in order on a steady clock, and tables of them.
#include "engine/base/error.h"
#include "harness/trace/perfetto.h"
#include "harness/trace/summary.h"
#include "harness/trace/trace_file.h"
#include "tests/fuzz/mutator.h"

namespace {

namespace record = abba::record;
namespace trace = abba::trace;

template <typename Record>
bool in_order(const std::vector<Record>& records) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].end_ns < records[i].start_ns ||
        (i > 0 && records[i].start_ns < records[i - 1].start_ns)) {
      return false;
    }
  }
  return true;
}

std::string check(const trace::TraceFile& file) {
  const record::Trace& all = file.records;
  if (!in_order(all.kernels) || !in_order(all.copies) || !in_order(all.calls) ||
      !in_order(all.ranges)) {
    return "rows out of order, or one that ends before it begins";
  }
  std::vector<trace::Window> windows;
  for (std::size_t i = 0; i < all.kernels.size() && i < 3; ++i) {
    const std::int64_t at = all.kernels[i].start_ns;
    windows.push_back({windows.empty() ? at : std::max(at, windows.back().end_ns), at + 1000});
    windows.back().end_ns = std::max(windows.back().end_ns, windows.back().start_ns);
  }
  const trace::Kept kept = trace::keep_requests(all, windows, 100);
  if (kept.rows.size() > 100) {
    return "more rows than the bound";
  }
  windows.resize(kept.requests);
  const trace::Summary summary = trace::summarize(kept.rows, windows);
  if (summary.requests.size() != kept.requests) {
    return "another number of requests";
  }
  trace::perfetto_json({{"t", kept.rows, windows}});
  return trace::lack_of(file).find('\n') == std::string::npos ? "" : "a lack of several lines";
}

std::string target(std::string_view input) {
  try {
    return check(trace::parse_trace(input, "f.trace"));
  } catch (const abba::base::Error& error) {
    return std::string(error.what()).find("f.trace") == std::string::npos
               ? std::string("a refusal without the file's name: ") + error.what()
               : "";
  }
}

}  // namespace

int main(int argc, char** argv) {
  using std::string_literals::operator""s;
  return abba::fuzz::run(argc, argv,
                         {"abbatrc\n\1\0\0\0"s, "\4\0\0\0\120\0\0\0"s, "\5\0\0\0\50\0\0\0"s,
                          "\6\0\0\0\40\0\0\0"s, "\7\0\0\0\30\0\0\0"s, "\10\0\0\0\30\0\0\0"s,
                          "\2\0\0\0\20\0\0\0"s, "\377\377\377\377\377\377\377\177"s, "status"s},
                         target);
}
