#include "harness/trace/collect/convert.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace abba::trace {
namespace {

const char* copy_kind(std::uint8_t kind) {
  switch (static_cast<CUpti_ActivityMemcpyKind>(kind)) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return "host-to-device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return "device-to-host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return "device-to-device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "host-to-host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "peer-to-peer";
    default:
      return "copy";
  }
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

// "cudaLaunchKernel_v7000" is known as cudaLaunchKernel: the number is the version of CUDA that
// brought its form.
std::string without_version(std::string name) {
  const std::size_t tail = name.rfind("_v");
  const bool is_version = tail != std::string::npos && name.size() >= tail + 6 &&
                          name.find_first_not_of("0123456789", tail + 2) == std::string::npos;
  if (is_version) {
    name.resize(tail);
  }
  return name;
}

}  // namespace

void Converter::add(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return add_kernel(reinterpret_cast<const CUpti_ActivityKernel10&>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return add_copy(reinterpret_cast<const CUpti_ActivityMemcpy6&>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add_set(reinterpret_cast<const CUpti_ActivityMemset4&>(record));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return add_api(reinterpret_cast<const CUpti_ActivityAPI&>(record));
    case CUPTI_ACTIVITY_KIND_MARKER:
      return add_marker(reinterpret_cast<const CUpti_ActivityMarker2&>(record));
    default:
      return;
  }
}

bool Converter::has_time(std::uint64_t start_ns, std::uint64_t end_ns) {
  const bool good = start_ns > 0 && end_ns >= start_ns;
  strange_ += good ? 0 : 1;
  return good;
}

void Converter::add_kernel(const CUpti_ActivityKernel10& record) {
  if (!has_time(record.start, record.end)) {
    return;
  }
  const auto whole = [](auto value) { return static_cast<std::uint32_t>(value); };
  writer_.kernel({record.start,
                  record.end,
                  record.graphNodeId,
                  kernel_name(record.name),
                  record.deviceId,
                  record.streamId,
                  record.correlationId,
                  record.graphId,
                  {whole(record.gridX), whole(record.gridY), whole(record.gridZ)},
                  {whole(record.blockX), whole(record.blockY), whole(record.blockZ)},
                  record.registersPerThread,
                  whole(record.staticSharedMemory),
                  whole(record.dynamicSharedMemory)});
}

void Converter::add_copy(const CUpti_ActivityMemcpy6& record) {
  if (has_time(record.start, record.end)) {
    writer_.copy({record.start, record.end, record.bytes, writer_.name(copy_kind(record.copyKind)),
                  record.deviceId, record.streamId, record.correlationId});
  }
}

void Converter::add_set(const CUpti_ActivityMemset4& record) {
  if (has_time(record.start, record.end)) {
    writer_.copy({record.start, record.end, record.bytes, writer_.name("set"), record.deviceId,
                  record.streamId, record.correlationId});
  }
}

void Converter::add_api(const CUpti_ActivityAPI& record) {
  if (has_time(record.start, record.end)) {
    const auto domain = record.kind == CUPTI_ACTIVITY_KIND_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API
                                                                   : CUPTI_CB_DOMAIN_DRIVER_API;
    writer_.api({record.start, record.end, api_name(domain, record.cbid), record.threadId,
                 record.correlationId, record.returnValue});
  }
}

void Converter::add_marker(const CUpti_ActivityMarker2& record) {
  const bool begins = (record.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0;
  const bool ends = (record.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0;
  if ((!begins && !ends) || !has_time(record.timestamp, record.timestamp)) {
    return;
  }
  const char* name = record.name == nullptr ? "" : record.name;
  const auto phase = begins ? MarkerPhase::kBegin : MarkerPhase::kEnd;
  writer_.marker({record.timestamp, record.id, static_cast<std::uint32_t>(phase),
                  record.objectId.pt.threadId, begins ? writer_.name(name) : 0U});
}

std::uint32_t Converter::kernel_name(const char* mangled) {
  const std::string key = mangled == nullptr ? "unnamed" : mangled;
  const auto [known, is_new] = kernel_names_.try_emplace(key, 0U);
  if (is_new) {
    known->second = writer_.name(demangled(key.c_str()));
  }
  return known->second;
}

std::uint32_t Converter::api_name(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const std::uint64_t key = (static_cast<std::uint64_t>(domain) << 32U) | id;
  const auto [known, is_new] = api_names_.try_emplace(key, 0U);
  if (is_new) {
    const char* name = nullptr;
    const bool has_name =
        api_.get_callback_name(domain, id, &name) == CUPTI_SUCCESS && name != nullptr;
    known->second = writer_.name(has_name ? without_version(name) : "call " + std::to_string(id));
  }
  return known->second;
}

}  // namespace abba::trace
