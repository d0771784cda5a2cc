#include "harness/store/redact.h"

#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "harness/store/open_run.h"

namespace abba::store {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    result += c;
    if (c == '\'') {
      result += c;
    }
  }
  return result + "'";
}

void remove_private(const std::string& file, const std::vector<std::string>& keep) {
  Database database(file, Database::Mode::kWrite);
  std::vector<std::string> keys;
  Statement rows = database.prepare("SELECT key FROM private");
  while (rows.step()) {
    const std::string key = rows.text(0);
    if (std::none_of(keep.begin(), keep.end(),
                     [&](const std::string& prefix) { return key.starts_with(prefix); })) {
      keys.push_back(key);
    }
  }
  // Without its salt a commitment cannot be tried against a list of likely names.
  Statement clear = database.prepare("UPDATE private SET salt = NULL, text = NULL WHERE key = ?");
  database.execute("PRAGMA secure_delete = ON");
  for (const std::string& key : keys) {
    clear.run(key);
  }
}

}  // namespace

void write_redacted(const std::string& path, const std::string& out,
                    const std::vector<std::string>& keep) {
  if (std::filesystem::exists(out)) {
    throw base::Error(base::ErrorCode::kBroken, out,
                      "exists already; name another file or remove it");
  }
  const std::string first = out + ".part1";
  const std::string second = out + ".part2";
  std::error_code ignored;
  const auto clean = [&] {
    std::filesystem::remove(first, ignored);
    std::filesystem::remove(second, ignored);
  };
  clean();
  try {
    Database source = open_run(path, {});
    source.execute("VACUUM INTO " + quoted(std::filesystem::absolute(first).string()));
    remove_private(first, keep);
    // Copied once more, so that no freed page holds what was removed.
    Database cleared(first, Database::Mode::kWrite);
    cleared.execute("VACUUM INTO " + quoted(std::filesystem::absolute(second).string()));
    std::filesystem::rename(second, out);
    clean();
  } catch (const std::filesystem::filesystem_error& refused) {
    clean();
    throw base::Error(base::ErrorCode::kBroken, out, refused.code().message());
  } catch (...) {
    clean();
    throw;
  }
}

}  // namespace abba::store
