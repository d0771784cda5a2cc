// Removal of ledger events is noticed by the run files that knew them.
#pragma once

#include <filesystem>

#include "harness/manifest/ledger.h"

namespace abba::run {

// Throws Error(kMismatch) naming the first run file in `folder` that knew an event which the ledger
// lacks. Files that cannot be read are left to those who look at results.
void require_known_events(const manifest::LedgerReading& ledger,
                          const std::filesystem::path& folder);

}  // namespace abba::run
