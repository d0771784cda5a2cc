// A fresh folder of this process, removed with all it holds.
#pragma once

#include <string>
#include <string_view>

namespace abba::base {

// Where TMPDIR says, else where the system keeps temporary files.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Error(kBroken) if it cannot be made
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

 private:
  std::string path_;
};

}  // namespace abba::base
