// The one symbol of libabba_trace.so: the CUDA driver calls it when a process that was started with
// CUDA_INJECTION64_PATH naming this library first uses CUDA.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "harness/trace/collect/collector.h"
#include "harness/trace/trace_format.h"

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* file = std::getenv(abba::trace::kTraceFileVariable);
  if (file == nullptr || *file == '\0') {
    std::fprintf(stderr, "abba-trace: %s names no file; the process goes on untraced\n",
                 abba::trace::kTraceFileVariable);
    return 1;
  }
  const char* cupti = std::getenv(abba::trace::kTraceCuptiVariable);
  abba::trace::begin_trace(file, cupti == nullptr ? "libcupti.so.13" : cupti);
  // Before the destructors of everything that was made earlier, the CUDA runtime among them.
  std::atexit(abba::trace::finish_trace);
  return 1;  // the driver's convention for "went well"; a refusal would fail its initialization
}
