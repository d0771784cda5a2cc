// Does a run file, or a bundle around one, check out? Recomputes, offline and from the file alone,
// everything that follows from something else in it: digests, chain, commitments, manifest, lock,
// plan, counts, verdicts. Trusts nothing in the file, changes nothing, throws only for a misuse of
// this interface.
//
// What it cannot see: an author who changes samples and recomputes every digest leaves a file that
// is consistent in itself. Only something that stood elsewhere before catches that: the head digest
// in a ledger event, or an anchor.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"

namespace abba::evidence {

enum class Outcome { kHolds, kFails, kNotDone };

struct Check {
  std::string name;  // "file", "chain", "coverage", "changes", "private", "manifest", "lock", ...
  Outcome outcome = Outcome::kHolds;
  std::string detail;  // what was compared, what differs and where, or why it was not done
};

// A registration's digest that stood somewhere else.
struct Anchor {
  std::string where;        // for the sentence: "refs/heads/main of ...", "a file kept by ..."
  std::string utc;          // when it stood there, "2026-11-29T14:47:31Z"
  std::string lock_digest;  // what stood there
};

// What the reader brings to judge anchors by; empty = what the evidence itself holds.
struct AnchorSources {
  std::string ca_file;    // certificates (PEM) that a time stamp must lead to
  std::string kept_file;  // a file kept since before the run that names the registration
  std::string mirror;     // a git repository whose reflog shows when the tag came there
};

struct VerifyOptions {
  AnchorSources sources;
  std::string ledger_folder;    // empty or absent: the ledger is not compared
  std::vector<Anchor> anchors;  // established by the caller, besides those of ledger and sources
  // What computes verdicts from samples (stats::analyze); empty: they are not recomputed.
  std::function<record::Analysis(const record::RunRecord&)> analyze;
  std::string program;  // this version and build: of a bundle by another, wording is not compared
};

enum class Ending { kAnchored, kConsistent, kBroken };

struct VerifyResult {
  Ending ending = Ending::kBroken;
  std::string sentence;  // "anchored before the first slot by X", "internally consistent, not
                         // anchored" (both with the acknowledged losses of the ledger) or "does
                         // not check out: WHERE"
  std::string run_id;
  std::string head_digest;
  std::vector<Check> checks;  // in the order made; those after a broken file are missing
};

[[nodiscard]] VerifyResult verify(const std::string& path, const VerifyOptions& options = {});

// "ok", "FAILS", "not done": for tables.
std::string_view name(Outcome outcome);

}  // namespace abba::evidence
