// A ledger with one event of any bytes beside a good one. Promises: reading never throws, the event
// is in the graph or a problem is named, and the good one is always there.
#include "engine/base/error.h"
#include "harness/manifest/ledger.h"
#include "tests/fuzz/json_words.h"
#include "tests/fuzz/mutator.h"
#include "tests/unit/temporary_folder.h"

namespace {

class Target {
 public:
  Target() {
    abba::manifest::append_event(folder_.path(), abba::record::LedgerEventKind::kRegistered,
                                 std::string(64, 'a'), abba::base::Json::object(), 1'795'963'800);
  }
  std::string operator()(std::string_view input) {
    folder_.write("20261129T000000Z-aaaaaaaa-run-started.json", input);
    try {
      const auto ledger = abba::manifest::read_ledger(folder_.path());
      if (ledger.events.empty()) return "the good event is gone";
      if (ledger.events.size() == 1 && ledger.problems.empty()) return "dropped without a word";
      abba::manifest::count_events(ledger, abba::record::LedgerEventKind::kRunStarted,
                                   std::string(64, 'a'));
      return abba::manifest::graph(ledger).empty() ? "an empty graph" : "";
    } catch (const std::exception& error) {
      return std::string("reading a ledger threw: ") + error.what();
    }
  }

 private:
  abba::TemporaryFolder folder_;
};

}  // namespace

int main(int argc, char** argv) {
  Target target;
  return abba::fuzz::run(
      argc, argv,
      abba::fuzz::with_json({"\"schema\"", "\"abba.ledger/1\"", "\"event\"", "\"registered\"",
                             "\"run-started\"", "\"run-finished\"", "\"withdrawn\"", "\"bound\"",
                             "\"utc\"", "\"lock\"", "\"parents\"", "\"details\"", "\"digest\"",
                             "\"head_digest\"", "\"run_file\"", std::string(64, 'a')}),
      [&](std::string_view input) { return target(input); });
}
