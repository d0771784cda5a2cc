#include "harness/evidence/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "engine/base/error.h"

namespace abba::evidence {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  path_ = (error ? std::filesystem::path("/tmp") : parent).string() + "/abba-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    throw base::Error(base::ErrorCode::kBroken, path_,
                      "cannot be created: " + base::errno_text(errno) + "; set TMPDIR");
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace abba::evidence
