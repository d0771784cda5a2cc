#include "harness/run/known_events.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/manifest/known_events.h"
#include "harness/store/run_file.h"

namespace abba::run {
namespace {

namespace fs = std::filesystem;

bool is_run_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".sqlite") || name.ends_with(".sqlite.xz");
}

std::vector<fs::path> run_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error) && is_run_file(it->path())) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

void require_known_events(const manifest::LedgerReading& ledger, const fs::path& folder) {
  store::ReadOptions options;
  options.samples = options.environment = options.check = false;
  for (const fs::path& file : run_files(folder)) {
    std::vector<std::string> missing;
    try {
      missing = manifest::missing_events(ledger, store::read_run(file.string(), options).bindings);
    } catch (const base::Error&) {
      continue;
    }
    if (!missing.empty()) {
      throw base::Error(base::ErrorCode::kMismatch, file.string(),
                        "knew the " + base::join(missing, ", the ") +
                            ", which the ledger lacks; restore the ledger's files as they were "
                            "committed");
    }
  }
}

}  // namespace abba::run
