// Bundles. "put NAME" and a line end: the rest becomes that entry of a good bundle, and the index
// is computed anew; else the input is the archive itself. Promises: an accepted archive is what its
// entries give when written; verify never throws, and finds nothing consistent that was changed.
#include <exception>

#include "engine/base/error.h"
#include "harness/evidence/bundle.h"
#include "harness/evidence/verify.h"
#include "harness/stats/analyze.h"
#include "harness/store/archive.h"
#include "harness/store/run_file.h"
#include "tests/fuzz/json_words.h"
#include "tests/fuzz/mutator.h"
#include "tests/unit/evidence/valid_run.h"
#include "tests/unit/temporary_folder.h"

namespace {

namespace evidence = abba::evidence;
namespace store = abba::store;

constexpr char kProgram[] = "fuzz";

class Target {
 public:
  Target() {
    const std::string path = folder_.file("good.sqlite");
    abba::testing::write_valid(path, abba::testing::valid_run());
    good_ =
        store::read_archive(evidence::make_bundle(path, {.facts = {.program = kProgram}}), "good");
    options_.analyze = [](const abba::record::RunRecord& run) { return abba::stats::analyze(run); };
    options_.program = kProgram;
  }

  std::string operator()(std::string_view input) {
    constexpr std::string_view kPut = "put ";
    const std::size_t line = input.find('\n');
    if (input.starts_with(kPut) && line != std::string_view::npos) {
      return put(std::string(input.substr(kPut.size(), line - kPut.size())),
                 input.substr(line + 1));
    }
    try {
      const auto entries = store::read_archive(input, "input");
      return store::write_archive(entries) == input ? "" : "an archive that is not its entries";
    } catch (const abba::base::Error& error) {
      return error.message().empty() ? "a refusal without words" : "";
    }
  }

 private:
  std::string put(const std::string& name, std::string_view bytes) {
    std::vector<store::ArchiveEntry> entries = good_;
    bool changed = true;
    bool known = false;
    for (store::ArchiveEntry& entry : entries) {
      if (entry.name != name) continue;
      known = true;
      changed = entry.bytes != bytes;
      entry.bytes = bytes;
    }
    if (!known) entries.push_back({name, std::string(bytes)});
    if (name != "bundle.json") abba::testing::recompute_index(entries);
    std::string archive;
    try {
      archive = store::write_archive(entries);
    } catch (const abba::base::Error& error) {  // a name that no archive takes
      return known ? std::string("a good name is refused: ") + error.what() : "";
    }
    try {
      const auto result = evidence::verify(folder_.write("b.zip", archive), options_);
      const bool consistent = result.ending != evidence::Ending::kBroken;
      return consistent && changed && name != "bundle.json" ? "a changed " + name + " is consistent"
                                                            : "";
    } catch (const std::exception& error) {
      return std::string("verify threw: ") + error.what();
    }
  }

  abba::TemporaryFolder folder_;
  std::vector<store::ArchiveEntry> good_;
  evidence::VerifyOptions options_;
};

}  // namespace

int main(int argc, char** argv) {
  Target target;
  return abba::fuzz::run(
      argc, argv,
      abba::fuzz::with_json({"put ",
                             "bundle.json",
                             "manifest.json",
                             "lock.json",
                             "report.md",
                             "report.json",
                             "recompute.py",
                             "commands.txt",
                             "run.sqlite.xz",
                             "ledger/a.json",
                             "../",
                             "\n",
                             "PK\x03\x04",
                             "PK\x01\x02",
                             "PK\x05\x06",
                             "PK\x06\x06",
                             std::string("\x08\0", 2),
                             std::string("\0\0", 2),
                             "\xff\xff\xff\xff",
                             "\"schema\"",
                             "\"abba.bundle/1\"",
                             "\"files\"",
                             "\"name\"",
                             "\"sha256\"",
                             "\xfd"
                             "7zXZ",
                             "a"}),
      [&](std::string_view input) { return target(input); },
      20);  // a whole verification each
}
