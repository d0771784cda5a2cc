// The workers that the tests start.
#pragma once

#include <string>
#include <vector>

#include "harness/workers/worker.h"

namespace abba::workers {

inline std::vector<std::string> saxpy_cpp() {
  return {ABBA_TEST_SAXPY};
}
inline std::vector<std::string> saxpy_python() {
  return {ABBA_TEST_PYTHON, ABBA_TEST_SAXPY_PY};
}
inline std::vector<std::string> broken_python(const std::string& rule) {
  return {ABBA_TEST_PYTHON, ABBA_TEST_BROKEN_PY, "--break", rule};
}

inline record::Workload saxpy_workload(int n = 1000) {
  record::Workload workload;
  workload.id = "w";
  workload.input = base::Json::object({{"n", n}});
  return workload;
}

inline record::SlotRequest slot_of(const std::string& workload, int warmup = 2, int requests = 5) {
  record::SlotRequest request;
  request.slot_id = "p0/b1/s2";
  request.workload = workload;
  request.warmup = warmup;
  request.requests = requests;
  return request;
}

}  // namespace abba::workers
