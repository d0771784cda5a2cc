// The functions of CUPTI that the tracer calls, as a table: the real one is filled from the library
// at run time, so that a machine without CUPTI gets one sentence and not a program that will not
// load; tests fill their own.
#pragma once

#include <cupti.h>

#include <string>

namespace abba::trace {

struct CuptiApi {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&cuptiSetThreadIdType) set_thread_id_type = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) get_dropped = nullptr;
};

// Opens `library` (a path, or a name that the loader looks up) and fills in `api`. Returns an empty
// text, or one sentence that says why it cannot be used.
std::string load_cupti(const std::string& library, CuptiApi& api);

// "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" and the like.
std::string result_text(const CuptiApi& api, CUptiResult result);

}  // namespace abba::trace
