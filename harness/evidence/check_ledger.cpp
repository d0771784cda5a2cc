// The one check against something outside of the file.
#include <algorithm>
#include <filesystem>

#include "engine/base/text.h"
#include "harness/evidence/check_record.h"
#include "harness/manifest/known_events.h"
#include "harness/manifest/ledger.h"
#include "harness/store/run_list.h"

namespace abba::evidence {
namespace {

namespace fs = std::filesystem;

// The run's id is in the file's name and in the file; a renamed copy still finds its events.
bool is_about(const record::LedgerEvent& event, const record::RunRecord& run) {
  if (event.kind != record::LedgerEventKind::kRunFinished ||
      event.lock_digest != run.registration.lock_digest) {
    return false;
  }
  const std::string named = store::run_stem(event.details.text_or_empty("run_file"));
  return named == run.run_id || named == store::run_stem(run.file);
}

}  // namespace

Check check_ledger(const record::RunRecord& run, const std::vector<std::string>& chain_digests,
                   const std::string& folder) {
  if (folder.empty() || !fs::is_directory(folder)) {
    return {"ledger", Outcome::kNotDone, "no ledger at hand"};
  }
  if (run.exploratory || run.registration.exploratory()) {
    return {"ledger", Outcome::kNotDone, "an exploratory run has no ledger events"};
  }
  const manifest::LedgerReading ledger = manifest::read_ledger(folder);
  if (!ledger.problems.empty()) {
    return {"ledger", Outcome::kFails, "the ledger is damaged: " + ledger.problems.front()};
  }
  const auto missing = manifest::missing_events(ledger, run.bindings);
  if (!missing.empty()) {
    return {"ledger", Outcome::kFails,
            "the run knew " + manifest::event_names(missing) + ", which the ledger lacks"};
  }
  int events = 0;
  bool head_named = false;
  bool said_finished = false;
  for (const record::LedgerEvent& event : ledger.events) {
    if (!is_about(event, run)) {
      continue;
    }
    ++events;
    const std::string head = event.details.text_or_empty("head_digest");
    if (std::find(chain_digests.begin(), chain_digests.end(), head) == chain_digests.end()) {
      return {"ledger", Outcome::kFails,
              "event " + record::short_digest(event.digest) + " of " + event.utc +
                  " names the head digest " + record::short_digest(head) +
                  ", which the chain does not hold: the run was changed afterwards"};
    }
    head_named = head_named || head == run.head_digest;
    said_finished = said_finished || event.details.text_or_empty("state") == "finished";
  }
  const bool ended = run.state != record::RunState::kRunning;
  // A harness killed between the file's last commit and its event: as without any event.
  if (ended && !head_named && run.resumed > 0 && !said_finished && events > 0) {
    return {"ledger", Outcome::kNotDone,
            "the ledger tells of an interruption, not of the end after the run went on"};
  }
  if (ended && events > 0 && !head_named) {
    return {"ledger", Outcome::kFails, "no event names the head digest of this run"};
  }
  if (events == 0) {
    return {"ledger", Outcome::kNotDone, "the ledger has no event about the end of this run"};
  }
  return {"ledger", Outcome::kHolds, std::to_string(events) + " events name heads of this chain"};
}

}  // namespace abba::evidence
