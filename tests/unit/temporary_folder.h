// A fresh folder below the system's temporary one, there for one test and gone with it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace abba {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "abba-test-XXXXXX").string();
    ABBA_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // The path that a file or folder of that name has here, whether it exists or not.
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

  // Replaces what is there, in place and without the care that real files need; makes folders on
  // the way. Returns the file's path.
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ABBA_CHECK(stream.flush().good());
    return file.string();
  }

  [[nodiscard]] int entry_count() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) count += entry.exists();
    return count;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace abba
