#include "harness/trace/collect/cupti_api.h"

#include <dlfcn.h>

namespace abba::trace {
namespace {

// Records are read by the layouts of this header: those of another major version are others.
constexpr std::uint32_t kMajor = 10000;

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::string load_cupti(const std::string& library, CuptiApi& api) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return std::string("CUPTI cannot be loaded: ") + dlerror();
  }
  const bool all = find(handle, "cuptiGetVersion", api.get_version) &&
                   find(handle, "cuptiGetTimestamp", api.get_timestamp) &&
                   find(handle, "cuptiGetResultString", api.get_result_string) &&
                   find(handle, "cuptiGetCallbackName", api.get_callback_name) &&
                   find(handle, "cuptiSetThreadIdType", api.set_thread_id_type) &&
                   find(handle, "cuptiActivityRegisterCallbacks", api.register_callbacks) &&
                   find(handle, "cuptiActivityEnable", api.enable) &&
                   find(handle, "cuptiActivityGetNextRecord", api.get_next_record) &&
                   find(handle, "cuptiActivityFlushAll", api.flush_all) &&
                   find(handle, "cuptiActivityGetNumDroppedRecords", api.get_dropped);
  if (!all) {
    return library + " lacks functions of CUPTI " + std::to_string(CUPTI_API_VERSION / kMajor);
  }
  std::uint32_t version = 0;
  if (api.get_version(&version) != CUPTI_SUCCESS ||
      version / kMajor != CUPTI_API_VERSION / kMajor) {
    return library + " is CUPTI " + std::to_string(version) + ", the tracer reads records of " +
           std::to_string(CUPTI_API_VERSION / kMajor) + " (" + std::to_string(CUPTI_API_VERSION) +
           ")";
  }
  return {};
}

std::string result_text(const CuptiApi& api, CUptiResult result) {
  const char* text = nullptr;
  if (api.get_result_string(result, &text) == CUPTI_SUCCESS && text != nullptr) {
    return text;
  }
  return "CUPTI error " + std::to_string(static_cast<int>(result));
}

}  // namespace abba::trace
