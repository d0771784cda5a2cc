#include "engine/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "engine/base/error.h"

namespace abba::base {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) {
    throw Error(ErrorCode::kBroken, "TMPDIR",
                "names no folder for temporary files (" + error.message() +
                    "); set it to one that can be written");
  }
  path_ = (parent / "abba-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) {
    throw Error(
        ErrorCode::kBroken, path_,
        "cannot be created: " + errno_text(errno) + "; set TMPDIR to a folder that can be written");
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace abba::base
