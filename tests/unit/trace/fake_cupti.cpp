#include "tests/unit/trace/fake_cupti.h"

#include <chrono>
#include <cstring>

namespace abba::testing {
namespace {

FakeCupti* the_fake = nullptr;
CUpti_BuffersCallbackRequestFunc the_request = nullptr;
CUpti_BuffersCallbackCompleteFunc the_complete = nullptr;

CUptiResult get_version(std::uint32_t* version) {
  *version = 130001;
  return CUPTI_SUCCESS;
}

CUptiResult get_timestamp(std::uint64_t* timestamp) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  *timestamp = static_cast<std::uint64_t>(
                   std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) +
               the_fake->ahead_ns;
  return CUPTI_SUCCESS;
}

CUptiResult get_result_string(CUptiResult, const char** text) {
  *text = "CUPTI_ERROR_MADE_UP";
  return CUPTI_SUCCESS;
}

CUptiResult get_callback_name(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  if (id == 0) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *name = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? "cudaLaunchKernel_v7000" : "cuLaunchKernel";
  return CUPTI_SUCCESS;
}

CUptiResult set_thread_id_type(CUpti_ActivityThreadIdType) {
  return CUPTI_SUCCESS;
}

CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc request,
                               CUpti_BuffersCallbackCompleteFunc complete) {
  the_request = request;
  the_complete = complete;
  return CUPTI_SUCCESS;
}

CUptiResult enable(CUpti_ActivityKind kind) {
  the_fake->kinds.push_back(kind);
  return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? the_fake->enable_kernels
         : kind == CUPTI_ACTIVITY_KIND_MARKER          ? the_fake->enable_markers
                                                       : CUPTI_SUCCESS;
}

CUptiResult get_next_record(std::uint8_t* buffer, std::size_t valid_bytes,
                            CUpti_Activity** record) {
  auto* at = reinterpret_cast<std::uint8_t*>(*record);
  at = at == nullptr ? buffer : at + FakeCupti::kStride;
  if (at >= buffer + valid_bytes) {
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}

CUptiResult flush_all(std::uint32_t) {
  std::uint8_t* buffer = nullptr;
  std::size_t most_records = 0;
  the_request(&buffer, &the_fake->buffer_bytes, &most_records);
  std::size_t used = 0;
  for (const std::string& record : the_fake->records) {
    std::memcpy(buffer + used, record.data(), record.size());
    used += FakeCupti::kStride;
  }
  the_fake->records.clear();
  the_complete(nullptr, 0, buffer, the_fake->buffer_bytes, used);
  return the_fake->flush;
}

CUptiResult get_dropped(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = the_fake->dropped;
  return CUPTI_SUCCESS;
}

}  // namespace

trace::CuptiApi api_of(FakeCupti& fake) {
  the_fake = &fake;
  return {
      get_version,        get_timestamp, get_result_string, get_callback_name, set_thread_id_type,
      register_callbacks, enable,        get_next_record,   flush_all,         get_dropped};
}

CUpti_ActivityKernel10 kernel_record(const char* name, std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityKernel10 record = {};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.start = start;
  record.end = end;
  return record;
}

}  // namespace abba::testing
