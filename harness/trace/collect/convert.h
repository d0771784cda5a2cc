// CUPTI's activity records to those of a trace file. Pure but for its writer: tests feed it records
// they made up. A record without a time, or one that ends before it begins, is counted and left out
// (CUPTI gives such ones when it lost the other half); kinds that were not asked for are ignored.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>
#include <unordered_map>

#include "harness/trace/collect/cupti_api.h"
#include "harness/trace/collect/trace_writer.h"

namespace abba::trace {

class Converter {
 public:
  Converter(const CuptiApi& api, TraceWriter& writer) : api_(api), writer_(writer) {}

  void add(const CUpti_Activity& record);
  [[nodiscard]] std::uint64_t strange() const { return strange_; }

 private:
  bool has_time(std::uint64_t start_ns, std::uint64_t end_ns);
  void add_kernel(const CUpti_ActivityKernel10& record);
  void add_copy(const CUpti_ActivityMemcpy6& record);
  void add_set(const CUpti_ActivityMemset4& record);
  void add_api(const CUpti_ActivityAPI& record);
  void add_marker(const CUpti_ActivityMarker2& record);
  std::uint32_t kernel_name(const char* mangled);
  std::uint32_t api_name(CUpti_CallbackDomain domain, CUpti_CallbackId id);

  const CuptiApi& api_;
  TraceWriter& writer_;
  std::uint64_t strange_ = 0;
  std::unordered_map<std::string, std::uint32_t> kernel_names_;  // by the mangled one
  std::unordered_map<std::uint64_t, std::uint32_t> api_names_;
};

}  // namespace abba::trace
