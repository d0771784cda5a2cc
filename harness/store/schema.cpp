#include "harness/store/schema.h"

#include <string>

#include "engine/base/error.h"
#include "harness/store/schema_sql.h"
#include "harness/store/schema_version2.h"
#include "harness/store/schema_version3.h"

namespace abba::store {
namespace {

std::string schema_text(Database& database) {
  Statement rows = database.prepare(
      "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE "
      "'~' ORDER BY type, name");
  std::string text;
  while (rows.step()) {
    for (int column = 0; column < 4; ++column) {
      text += rows.bytes(column);
      text += '\n';
    }
  }
  return text;
}

}  // namespace

std::span<const Migration> migrations() {
  static constexpr Migration kSteps[] = {
      {1, "the first layout", kSchemaVersion1},
      {2, "pass values of every order of slots", kSchemaVersion2},
      {3, "graph captures that count", kSchemaVersion3}};
  return kSteps;
}

void migrate(Database& database, std::span<const Migration> steps) {
  const std::int64_t version = database.integer("PRAGMA user_version");
  const std::int64_t newest = steps.back().to;
  if (version > newest) {
    throw base::Error(base::ErrorCode::kBadInput, database.path(),
                      "was written by a newer abba (layout " + std::to_string(version) +
                          ", this one reads up to " + std::to_string(newest) +
                          "); use that abba to read it");
  }
  if (version == newest) {
    return;
  }
  Transaction transaction(database);
  database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  for (const Migration& step : steps) {
    if (step.to <= version) {
      continue;
    }
    database.execute(step.sql);
    database.prepare("INSERT INTO schema_migration (version, description) VALUES (?, ?)")
        .run(step.to, step.description);
    database.execute("PRAGMA user_version = " + std::to_string(step.to));
  }
  transaction.commit();
}

void require_own_schema(Database& database) {
  const std::int64_t version = database.integer("PRAGMA user_version");
  if (version < 0 || version > kSchemaVersion) {
    throw base::Error(base::ErrorCode::kBadInput, database.path(),
                      "names layout " + std::to_string(version) + ", which does not exist");
  }
  Database own("own schema", Database::Mode::kMemory);
  if (version > 0) {
    migrate(own, migrations().first(static_cast<std::size_t>(version)));
  }
  if (schema_text(database) != schema_text(own)) {
    throw base::Error(base::ErrorCode::kBadInput, database.path(),
                      "its tables or views are not those of a run file of layout " +
                          std::to_string(version) + "; it was altered or is damaged");
  }
}

}  // namespace abba::store
