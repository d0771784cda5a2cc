// CUPTI made of functions of ours: hands out the records that a test queued when it is flushed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/trace/collect/cupti_api.h"

namespace abba::testing {

struct FakeCupti {
  CUptiResult enable_kernels = CUPTI_SUCCESS;
  CUptiResult enable_markers = CUPTI_SUCCESS;
  CUptiResult flush = CUPTI_SUCCESS;
  std::size_t dropped = 0;
  std::uint64_t ahead_ns = 0;             // of the steady clock
  std::vector<std::string> records;       // as bytes, each at most kStride
  std::vector<CUpti_ActivityKind> kinds;  // enabled
  std::size_t buffer_bytes = 0;           // of the last buffer that was given

  static constexpr std::size_t kStride = 512;

  template <typename Record>
  void queue(const Record& record) {
    records.emplace_back(reinterpret_cast<const char*>(&record), sizeof record);
  }
};

// Functions over the one fake there can be at a time.
trace::CuptiApi api_of(FakeCupti& fake);

CUpti_ActivityKernel10 kernel_record(const char* name, std::uint64_t start, std::uint64_t end);

}  // namespace abba::testing
