#include "harness/run/known_events.h"

#include "engine/base/error.h"
#include "harness/manifest/known_events.h"
#include "harness/store/run_file.h"
#include "harness/store/run_list.h"

namespace abba::run {

void require_known_events(const manifest::LedgerReading& ledger,
                          const std::filesystem::path& folder) {
  store::ReadOptions options;
  options.samples = options.environment = options.check = false;
  for (const auto& file : store::run_files_in(folder)) {
    std::vector<record::Binding> missing;
    try {
      missing = manifest::missing_events(ledger, store::read_run(file.string(), options).bindings);
    } catch (const base::Error&) {
      continue;
    }
    if (!missing.empty()) {
      throw base::Error(base::ErrorCode::kMismatch, file.string(),
                        "knew " + manifest::event_names(missing) + ", which the ledger lacks; " +
                            std::string(manifest::kLossAdvice));
    }
  }
}

}  // namespace abba::run
