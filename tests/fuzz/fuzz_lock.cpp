// Lock files of any bytes. Promises: a refusal in words, or a registration whose digest is that of
// its content.
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/sha256.h"
#include "harness/manifest/lock.h"
#include "tests/fuzz/json_words.h"
#include "tests/fuzz/mutator.h"
#include "tests/unit/temporary_folder.h"

namespace {

std::string target(std::string_view input) {
  static const abba::TemporaryFolder kFolder;
  const std::string file = kFolder.write("m.lock.json", input);
  try {
    const auto lock = abba::manifest::load_lock(file);
    abba::base::Json written = abba::base::parse_json_file(file);
    written.erase("digest");
    return abba::base::sha256_hex(written.canonical()) == lock.lock_digest
               ? ""
               : "the digest is not that of the content";
  } catch (const abba::base::Error& error) {
    return error.message().empty() ? "a refusal without words" : "";
  }
}

}  // namespace

int main(int argc, char** argv) {
  return abba::fuzz::run(
      argc, argv,
      abba::fuzz::with_json({"\"schema\"", "\"abba.lock/1\"", "\"digest\"", "\"manifest_digest\"",
                             "\"registered_utc\"", "\"seed\"", "\"decisions\"", "\"sources\"",
                             "\"commit\"", "\"supersedes\"", "\"plan\"", std::string(64, '0')}),
      target);
}
