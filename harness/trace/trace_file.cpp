#include "harness/trace/trace_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/base/utf8.h"

namespace abba::trace {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::size_t kReadBytes = 2 * static_cast<std::size_t>(kTraceFileBytes);
constexpr std::size_t kTextBytes = 4096;  // of an info's value
constexpr std::size_t kInfos = 1000;

// Names enter reports and a database: control characters and broken UTF-8 do not.
std::string clean(std::string_view text, std::size_t limit) {
  return base::clean_utf8(text.substr(0, limit));
}

std::int64_t whole_number(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value, kMost));
}

class Reading {
 public:
  Reading(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  TraceFile read() {
    FileHeader header = {};
    if (!take(header) || std::memcmp(header.magic, kTraceMagic, sizeof header.magic) != 0) {
      refuse("is no trace: it does not begin as one");
    }
    if (header.version != kTraceVersion) {
      refuse("is a trace of version " + std::to_string(header.version) + ", this abba reads " +
             std::to_string(kTraceVersion) + "; use the tracer that came with it");
    }
    while (!file_.complete && record()) {
    }
    if (file_.complete && at_ < bytes_.size()) {
      refuse("goes on after its last record");
    }
    order();
    return std::move(file_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::kBadInput, where_, what);
  }

  template <typename Struct>
  bool take(Struct& value) {
    if (bytes_.size() - at_ < sizeof value) {
      return false;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }

  // False where the file ends, also in the middle of a record.
  bool record() {
    RecordHeader header = {};
    if (!take(header) || bytes_.size() - at_ < header.size) {
      return false;
    }
    const std::string_view payload = bytes_.substr(at_, header.size);
    at_ += header.size;
    switch (static_cast<RecordType>(header.type)) {
      case RecordType::kInfo:
        info(payload);
        break;
      case RecordType::kClock:
        file_.clock.push_back(whole<ClockRecord>(payload));
        break;
      case RecordType::kName:
        name(payload);
        break;
      case RecordType::kKernel:
        kernel(whole<KernelRecord>(payload));
        break;
      case RecordType::kCopy:
        copy(whole<CopyRecord>(payload));
        break;
      case RecordType::kApi:
        call(whole<ApiRecord>(payload));
        break;
      case RecordType::kMarker:
        markers_.push_back(whole<MarkerRecord>(payload));
        break;
      case RecordType::kEnd:
        file_.end = whole<EndRecord>(payload);
        file_.complete = true;
        break;
    }
    return true;
  }

  template <typename Record>
  Record whole(std::string_view payload) const {
    if (payload.size() != sizeof(Record)) {
      refuse("has a record of " + std::to_string(payload.size()) + " bytes where " +
             std::to_string(sizeof(Record)) + " make one, before byte " + std::to_string(at_));
    }
    Record record;
    std::memcpy(&record, payload.data(), sizeof record);
    return record;
  }

  void info(std::string_view payload) {
    InfoRecord head = {};
    if (payload.size() < sizeof head) {
      refuse("has a fact of " + std::to_string(payload.size()) + " bytes");
    }
    std::memcpy(&head, payload.data(), sizeof head);
    payload.remove_prefix(sizeof head);
    if (head.key_size > payload.size() || file_.info.size() + file_.lacking.size() >= kInfos) {
      refuse("has a fact whose key is longer than it, or too many facts");
    }
    const std::string key = clean(payload.substr(0, head.key_size), kTextBytes);
    std::string value = clean(payload.substr(head.key_size), kTextBytes);
    if (key == kInfoLacking) {
      file_.lacking.push_back(std::move(value));
    } else {
      file_.info[key] = std::move(value);
    }
  }

  void name(std::string_view payload) {
    NameRecord head = {};
    if (payload.size() < sizeof head) {
      refuse("has a name of " + std::to_string(payload.size()) + " bytes");
    }
    std::memcpy(&head, payload.data(), sizeof head);
    names_[head.id] = clean(payload.substr(sizeof head), kTraceNameBytes);
  }

  const std::string& name_of(std::uint32_t id) const {
    const auto found = names_.find(id);
    if (found == names_.end()) {
      refuse("uses the name " + std::to_string(id) + " and does not say it");
    }
    return found->second;
  }

  static bool has_time(std::uint64_t start_ns, std::uint64_t end_ns) {
    return start_ns <= end_ns && end_ns < static_cast<std::uint64_t>(record::kLatestNs);
  }

  void kernel(const KernelRecord& r) {
    if (!has_time(r.start_ns, r.end_ns)) {
      ++strange_;
      return;
    }
    record::TraceKernel& k = file_.records.kernels.emplace_back();
    k.name = name_of(r.name);
    k.device = r.device;
    k.stream = r.stream;
    k.correlation = r.correlation;
    k.graph_node = whole_number(r.graph_node);
    k.start_ns = static_cast<std::int64_t>(r.start_ns);
    k.end_ns = static_cast<std::int64_t>(r.end_ns);
    std::copy(std::begin(r.grid), std::end(r.grid), k.grid.begin());
    std::copy(std::begin(r.block), std::end(r.block), k.block.begin());
    k.registers = r.registers;
    k.static_shared_bytes = r.static_shared;
    k.dynamic_shared_bytes = r.dynamic_shared;
  }

  void copy(const CopyRecord& r) {
    if (!has_time(r.start_ns, r.end_ns)) {
      ++strange_;
      return;
    }
    file_.records.copies.push_back({name_of(r.kind), r.device, r.stream, r.correlation,
                                    whole_number(r.bytes), static_cast<std::int64_t>(r.start_ns),
                                    static_cast<std::int64_t>(r.end_ns)});
  }

  void call(const ApiRecord& r) {
    if (!has_time(r.start_ns, r.end_ns)) {
      ++strange_;
      return;
    }
    file_.records.calls.push_back({name_of(r.name), r.thread, r.correlation,
                                   static_cast<std::int64_t>(r.start_ns),
                                   static_cast<std::int64_t>(r.end_ns)});
  }

  // The two ends of a range carry one id. Buffers of several threads interleave, so that an end may
  // stand before its begin; a begin without an end is a range that was open at the end, and no row.
  void join_ranges() {
    std::unordered_map<std::uint32_t, const MarkerRecord*> ends;
    for (const MarkerRecord& marker : markers_) {
      if (marker.phase == static_cast<std::uint32_t>(MarkerPhase::kEnd)) {
        ends[marker.id] = &marker;
      }
    }
    for (const MarkerRecord& begin : markers_) {
      const auto end = ends.find(begin.id);
      if (begin.phase != static_cast<std::uint32_t>(MarkerPhase::kBegin) || end == ends.end()) {
        continue;
      }
      if (!has_time(begin.time_ns, end->second->time_ns)) {
        ++strange_;
        continue;
      }
      file_.records.ranges.push_back({name_of(begin.name), begin.thread,
                                      static_cast<std::int64_t>(begin.time_ns),
                                      static_cast<std::int64_t>(end->second->time_ns)});
    }
  }

  void order() {
    join_ranges();
    file_.end.strange += strange_;
    for (const ClockRecord& pair : file_.clock) {
      if (pair.trace_ns < 0 || pair.trace_ns > record::kLatestNs || pair.steady_ns < 0 ||
          pair.steady_ns > record::kLatestNs) {
        refuse("pairs its clock with a time that is none");
      }
    }
    std::sort(file_.clock.begin(), file_.clock.end(),
              [](const auto& a, const auto& b) { return a.trace_ns < b.trace_ns; });
    sort_steady(file_.records.kernels);
    sort_steady(file_.records.copies);
    sort_steady(file_.records.calls);
    sort_steady(file_.records.ranges);
  }

  // At equal starts the longer one first: it encloses the other.
  template <typename Record>
  void sort_steady(std::vector<Record>& records) const {
    for (Record& record : records) {
      const auto steady = [&](std::int64_t ns) {
        return std::clamp<std::int64_t>(to_steady(file_.clock, ns), 0, record::kLatestNs);
      };
      record.start_ns = steady(record.start_ns);
      record.end_ns = std::max(record.start_ns, steady(record.end_ns));
    }
    std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    });
  }

  std::string_view bytes_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::uint64_t strange_ = 0;
  std::unordered_map<std::uint32_t, std::string> names_;
  std::vector<MarkerRecord> markers_;
  TraceFile file_;
};

}  // namespace

TraceFile parse_trace(std::string_view bytes, const std::string& where) {
  return Reading(bytes, where).read();
}

TraceFile read_trace_file(const std::string& path) {
  return parse_trace(base::read_file(path, kReadBytes), path);
}

std::string lack_of(const TraceFile& file) {
  std::vector<std::string> lacks = file.lacking;
  const auto status = file.info.find(kInfoStatus);
  if (status != file.info.end() && status->second != "ok") {
    lacks.push_back(status->second);
  }
  if (!file.complete) {
    lacks.emplace_back("its worker ended before the tracer had written everything");
  }
  for (const auto& [count, why] :
       {std::pair(file.end.dropped, "were dropped for want of a buffer"),
        std::pair(file.end.cut, "were left out for want of space in the tracer's file"),
        std::pair(file.end.strange, "had no valid time")}) {
    if (count > 0) {
      lacks.push_back(std::to_string(count) + " records " + why);
    }
  }
  return base::join(lacks, "; ");
}

std::int64_t to_steady(const std::vector<ClockRecord>& clock, std::int64_t trace_ns) {
  if (clock.empty()) {
    return trace_ns;
  }
  const auto after =
      std::upper_bound(clock.begin(), clock.end(), trace_ns,
                       [](std::int64_t ns, const ClockRecord& pair) { return ns < pair.trace_ns; });
  if (after == clock.begin() || after == clock.end()) {
    const ClockRecord& nearest = after == clock.begin() ? *after : *(after - 1);
    return nearest.steady_ns + (trace_ns - nearest.trace_ns);
  }
  const ClockRecord& low = *(after - 1);
  const double slope = static_cast<double>(after->steady_ns - low.steady_ns) /
                       static_cast<double>(after->trace_ns - low.trace_ns);
  // A difference, which a double holds exactly; the times themselves it would not.
  return low.steady_ns +
         static_cast<std::int64_t>(slope * static_cast<double>(trace_ns - low.trace_ns) + 0.5);
}

}  // namespace abba::trace
