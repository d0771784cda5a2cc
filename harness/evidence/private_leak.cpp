// The last look before a bundle leaves: does any byte of it hold what is to be withheld?
#include <algorithm>
#include <set>

#include "engine/base/text.h"
#include "harness/evidence/bundle.h"
#include "harness/store/open_run.h"
#include "harness/store/private_words.h"
#include "harness/store/run_file.h"
#include "harness/store/xz.h"

namespace abba::evidence {
namespace {

constexpr std::size_t kShortest = 4;

struct Secret {
  std::string key;
  std::string text;
};

// Host name and command lines whole, and the paths in every private string.
std::vector<Secret> secrets_of(const std::string& run_file) {
  store::Database database = store::open_run(run_file, {.check = false});
  const std::string published =
      database.text("SELECT text FROM document WHERE name = 'manifest'") +
      database.text("SELECT text FROM document WHERE name = 'manifest_text'");
  std::vector<Secret> secrets;
  store::Statement row = database.prepare(
      "SELECT key, text FROM private WHERE text IS NOT NULL AND NOT (key = 'manifest/path' AND "
      "text NOT LIKE '/%') ORDER BY key");
  while (row.step()) {
    std::vector<std::string> words = store::private_words(row.bytes(1));
    if (!row.bytes(0).starts_with("hello/")) {
      words.push_back(row.text(1));
    }
    for (const std::string& word : words) {
      if (word.size() >= kShortest && published.find(word) == std::string::npos) {
        secrets.push_back({row.text(0), word});
      }
    }
  }
  return secrets;
}

}  // namespace

std::string private_leak(const std::string& run_file,
                         const std::vector<store::ArchiveEntry>& entries) {
  const std::vector<Secret> secrets = secrets_of(run_file);
  for (const store::ArchiveEntry& entry : entries) {
    const std::string unpacked = store::is_xz(entry.bytes)
                                     ? store::xz_decompress(entry.bytes, entry.name, 1U << 30U)
                                     : std::string();
    const std::string& bytes = unpacked.empty() ? entry.bytes : unpacked;
    for (const Secret& secret : secrets) {
      // As a word: a short name may be part of an ordinary one.
      if (bytes.find(secret.text) != std::string::npos &&
          store::replace_word(bytes, secret.text, "") != bytes) {
        return entry.name + " holds the private string " + secret.key;
      }
    }
  }
  return "";
}

}  // namespace abba::evidence
