#include "harness/store/run_list.h"

#include <algorithm>
#include <string_view>
#include <system_error>

namespace abba::store {

namespace fs = std::filesystem;

bool is_run_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".sqlite") || name.ends_with(".sqlite.xz");
}

std::string run_stem(const fs::path& run_file) {
  std::string name = run_file.filename().string();
  for (const std::string_view end : {".xz", ".sqlite"}) {
    if (name.size() > end.size() && name.ends_with(end)) {
      name.resize(name.size() - end.size());
    }
  }
  return name;
}

std::vector<fs::path> run_files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored) && is_run_file(it->path())) {
      files.push_back(it->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace abba::store
