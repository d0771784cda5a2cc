// The workers that the tests start.
#pragma once

#include <unistd.h>

#include <filesystem>
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

// Removed with everything in it at the end of the test.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("abba-test-" + name + "-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace abba::workers
