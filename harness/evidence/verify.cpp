#include "harness/evidence/verify.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "engine/base/error.h"
#include "harness/evidence/anchor.h"
#include "harness/evidence/check_file.h"
#include "harness/evidence/check_record.h"
#include "harness/evidence/verify_parts.h"
#include "harness/manifest/ledger.h"
#include "harness/store/archive.h"
#include "harness/store/chain.h"
#include "harness/store/open_run.h"
#include "harness/store/run_file.h"

namespace abba::evidence {
namespace {

class Verification {
 public:
  Verification(std::string path, const VerifyOptions& options)
      : path_(std::move(path)), options_(options) {}

  VerifyResult run() {
    try {
      file();
      record();
    } catch (const base::Error& error) {
      add(file_read_ ? "record" : "file", error.message(), "");
    }
    conclude();
    return std::move(result_);
  }

 private:
  void add(std::string name, std::string wrong, std::string good) {
    const bool holds = wrong.empty();
    result_.checks.push_back({std::move(name), holds ? Outcome::kHolds : Outcome::kFails,
                              holds ? std::move(good) : std::move(wrong)});
  }
  void not_done(std::string name, std::string why) {
    result_.checks.push_back({std::move(name), Outcome::kNotDone, std::move(why)});
  }

  void file() {
    store::Database database = store::open_run(path_, {});
    add("file", "", "whole, of a layout this abba knows");
    file_read_ = true;
    ChainFindings chain = check_chain(database);
    add("chain", chain.chain, chain.summary);
    if (chain.chain.empty()) {
      add("coverage", chain.coverage, "every row belongs to a commit");
    }
    add("changes", check_changes(database), "every value that may change is the last one logged");
    PrivateFindings strings = check_private(database);
    add("private", strings.wrong, strings.summary);
    for (const store::ChainEntry& entry : store::read_chain(database)) {
      chain_digests_.push_back(entry.digest);
    }
  }

  void record() {
    run_ = store::read_run(path_, {.check = false});
    result_.run_id = run_.run_id;
    result_.head_digest = run_.head_digest;
    const store::RunTexts texts = store::read_texts(path_);
    add("manifest", check_manifest(run_, texts), "as written, as expanded and as run are one");
    if (run_.exploratory || run_.registration.exploratory()) {
      not_done("lock", "an exploratory run has none");
    } else {
      add("lock", check_lock(run_, texts), "registered " + run_.registration.registered_utc);
    }
    add("counts", check_counts(run_), "passes, blocks, slots and requests are those planned");
    if (run_.manifest.graph_capture.is_object() || !run_.graph_captures.empty()) {
      add("captures", check_captures(run_), "each by a worker in which nothing was timed");
    }
    add("outputs", check_outputs(run_), "digests of both arms are present where asked for");
    verdicts();
    result_.checks.push_back(check_ledger(run_, chain_digests_, options_.ledger_folder));
    anchors();
  }

  void anchors() {
    anchors_ = options_.anchors;
    if (run_.exploratory || run_.registration.exploratory()) {
      return;
    }
    const manifest::LedgerReading ledger = manifest::read_ledger(options_.ledger_folder);
    losses(ledger);
    AnchorFindings found = find_anchors(ledger, run_.registration.lock_digest, options_.sources);
    anchors_.insert(anchors_.end(), found.anchors.begin(), found.anchors.end());
    result_.checks.insert(result_.checks.end(), found.checks.begin(), found.checks.end());
  }

  // Whoever acknowledged them, nobody knows what those events said: it is told with every verdict.
  void losses(const manifest::LedgerReading& ledger) {
    for (const manifest::AcknowledgedLoss& loss : ledger.losses) {
      not_done("ledger", manifest::text(loss));
      reservations_ += "; the ledger's " + manifest::text(loss);
    }
  }

  void verdicts_open(const std::string& why) {
    not_done("verdicts", why);
    reservations_ += "; no verdict was recomputed";
  }

  void verdicts() {
    const auto stored = store::read_analysis(path_);
    if (!stored) {
      verdicts_open("the run stored none");
      return;
    }
    if (run_.state == record::RunState::kRunning) {  // it went on and has no end again
      verdicts_open("those stored are of an end after which the run went on");
      return;
    }
    store::Database database = store::open_run(path_, {.check = false});
    const std::string table = check_verdict_table(database, *stored);
    if (!table.empty()) {
      add("verdicts", table, "");
    } else if (stored->version != run_.analysis_version) {
      // Else whoever edits the verdicts could name a version that nobody recomputes.
      add("verdicts",
          "those stored name analysis version " + stored->version + ", the run " +
              run_.analysis_version,
          "");
    } else if (!options_.analyze) {
      verdicts_open("nothing at hand to recompute them with");
    } else {
      const record::Analysis recomputed = options_.analyze(run_);
      if (recomputed.version != stored->version) {
        verdicts_open("the run names analysis version " + stored->version + ", this abba has " +
                      recomputed.version);
      } else {
        add("verdicts", check_verdicts(*stored, recomputed), "recomputed from the samples");
      }
    }
  }

  void conclude() {
    for (const Check& check : result_.checks) {
      if (check.outcome == Outcome::kFails) {
        result_.ending = Ending::kBroken;
        result_.sentence = "does not check out: " + check.name + ": " + check.detail;
        return;
      }
    }
    for (const Anchor& anchor : anchors_) {
      // Both are UTC in one fixed form, so text order is time order.
      if (!run_.registration.exploratory() && anchor.lock_digest == run_.registration.lock_digest &&
          anchor.utc < run_.started_utc) {
        result_.ending = Ending::kAnchored;
        result_.sentence = "anchored before the first slot by " + anchor.where + reservations_;
        return;
      }
    }
    result_.ending = Ending::kConsistent;
    result_.sentence = "internally consistent, not anchored" + reservations_;
  }

  std::string path_;
  const VerifyOptions& options_;
  VerifyResult result_;
  record::RunRecord run_;
  std::vector<std::string> chain_digests_;
  std::vector<Anchor> anchors_;
  std::string reservations_;  // lost ledger events, verdicts not recomputed: for the sentence
  bool file_read_ = false;
};

}  // namespace

VerifyResult verify_run_file(const std::string& path, const VerifyOptions& options) {
  return Verification(path, options).run();
}

VerifyResult verify(const std::string& path, const VerifyOptions& options) {
  constexpr std::size_t kBegin = 4;
  std::string begin(kBegin, '\0');
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) {  // opening a pipe would wait for a writer
    std::ifstream file(path, std::ios::binary);
    file.read(begin.data(), kBegin);
  }  // what is no file or cannot be read is said by the run file's check
  return store::is_archive(begin) ? verify_bundle(path, options) : verify_run_file(path, options);
}

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kHolds:
      return "ok";
    case Outcome::kFails:
      return "FAILS";
    case Outcome::kNotDone:
      break;
  }
  return "not done";
}

}  // namespace abba::evidence
