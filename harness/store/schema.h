// The tables and views of a run file, its two marks (application_id, user_version) and the steps
// from one version to the next. Files of newer versions are refused; older ones are migrated, in
// memory when they are only read.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "harness/store/database.h"

namespace abba::store {

inline constexpr std::int64_t kApplicationId = 0x61626261;  // "abba"
inline constexpr std::int64_t kSchemaVersion = 3;

struct Migration {
  std::int64_t to;          // from to - 1
  const char* description;  // for the table schema_migration
  const char* sql;
};

// All steps from an empty database to kSchemaVersion.
std::span<const Migration> migrations();

// Sets the marks and runs the steps the database lacks, in one transaction. Throws Error(kBadInput)
// if the database is newer than the last step.
void migrate(Database& database, std::span<const Migration> steps = migrations());

// Throws Error(kBadInput) unless the tables, indexes and views are exactly those of the layout that
// the database names (one we know): a hostile file may put a view or a lax table in the place of
// ours, and a migration that replaces it would hide that.
void require_own_schema(Database& database);

}  // namespace abba::store
