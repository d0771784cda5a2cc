// Opening a run file that is not trusted: what it must be before a single row is believed.
#pragma once

#include <cstddef>
#include <string>

#include "harness/store/database.h"

namespace abba::store {

struct OpenOptions {
  bool check = true;  // SQLite's quick_check of the whole file, and of all foreign keys
  std::size_t max_bytes = std::size_t{1} << 30U;  // of what is read in memory: .xz, decompressed
};

// A read-only database: a regular file or .xz of one (decompressed in memory, as is a file that its
// run's end left half-way between journals in a folder that may not be written), SQLite's header,
// our application_id, a layout we know (older ones are migrated in a copy in memory), exactly our
// tables, whole. Throws Error(kBadInput, path, one sentence).
Database open_run(const std::string& path, const OpenOptions& options);

}  // namespace abba::store
