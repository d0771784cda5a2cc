#include "tests/unit/trace/trace_bytes.h"

#include <cstring>

namespace abba::testing {
namespace {

template <typename Struct>
std::string bytes_of(const Struct& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

TraceBytes::TraceBytes(std::uint32_t version) {
  trace::FileHeader header = {};
  std::memcpy(header.magic, trace::kTraceMagic, sizeof header.magic);
  header.version = version;
  bytes = bytes_of(header);
}

TraceBytes& TraceBytes::raw(std::uint32_t type, std::string_view payload) {
  const trace::RecordHeader header = {type, static_cast<std::uint32_t>(payload.size())};
  bytes += bytes_of(header);
  bytes += payload;
  return *this;
}

TraceBytes& TraceBytes::info(std::string_view key, std::string_view value) {
  const trace::InfoRecord head = {static_cast<std::uint32_t>(key.size())};
  return raw(static_cast<std::uint32_t>(trace::RecordType::kInfo),
             bytes_of(head) + std::string(key) + std::string(value));
}

TraceBytes& TraceBytes::name(std::uint32_t id, std::string_view text) {
  return raw(static_cast<std::uint32_t>(trace::RecordType::kName),
             bytes_of(trace::NameRecord{id}) + std::string(text));
}

TraceBytes& TraceBytes::clock(std::int64_t trace_ns, std::int64_t steady_ns) {
  return add(trace::RecordType::kClock, trace::ClockRecord{trace_ns, steady_ns});
}

TraceBytes& TraceBytes::kernel(std::uint32_t name, std::uint64_t start_ns, std::uint64_t end_ns,
                               std::uint32_t correlation) {
  trace::KernelRecord record = {};
  record.start_ns = start_ns;
  record.end_ns = end_ns;
  record.name = name;
  record.correlation = correlation;
  return add(trace::RecordType::kKernel, record);
}

TraceBytes& TraceBytes::marker(std::uint32_t id, trace::MarkerPhase phase, std::uint64_t time_ns,
                               std::uint32_t name) {
  return add(trace::RecordType::kMarker,
             trace::MarkerRecord{time_ns, id, static_cast<std::uint32_t>(phase), 9, name});
}

TraceBytes& TraceBytes::end(const trace::EndRecord& end) {
  return add(trace::RecordType::kEnd, end);
}

}  // namespace abba::testing
