// The ledger: one file per event, <utc>-<lock8>-<event>.json, each naming the digests of the heads
// it knew. Files are only ever added, so branches merge without conflict and the graph shows who
// knew what. Nothing here edits or removes an event.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json.h"
#include "harness/record/registration.h"

namespace abba::manifest {

// An event that somebody still names and that is not there.
struct MissingEvent {
  std::string digest;
  std::string kind;  // "run-started", ... where a run file says it; empty = not known
};

// An event that is gone; somebody entered its loss with a reason, so the ledger goes on without it.
struct AcknowledgedLoss {
  std::string digest;  // of the event that is gone
  std::string kind;    // as of MissingEvent
  std::string utc;     // when its loss was acknowledged
  std::string reason;
};

struct LedgerReading {
  std::vector<record::LedgerEvent> events;  // parents before children, else by time and name
  std::vector<std::string> heads;           // digests that no event names as parent
  std::vector<std::string> problems;  // damaged files, wrong digests or names, an event that stands
                                      // twice, missing parents; each with the file's name
  std::vector<MissingEvent> missing;  // the missing parents among the problems
  std::vector<AcknowledgedLoss> losses;  // of events that are still gone; no problems
  [[nodiscard]] bool holds(const std::string& digest) const;
  [[nodiscard]] bool acknowledges(const std::string& digest) const;  // as one of its losses
};

// An absent folder is an empty ledger. Never throws for what lies in the files.
LedgerReading read_ledger(const std::filesystem::path& folder);

// Writes a new event whose parents are all current heads. Created exclusively: an event never
// replaces another. Throws Error(kBroken) if it cannot be written.
record::LedgerEvent append_event(const std::filesystem::path& folder, record::LedgerEventKind kind,
                                 const std::string& lock_digest, const base::Json& details,
                                 std::int64_t unix_seconds);

// Withdraws a registration for a stated reason. Throws Error(kBadInput) if the reason is empty or
// the ledger knows no such lock (8 digits or more).
record::LedgerEvent withdraw(const std::filesystem::path& folder, const std::string& lock_digest,
                             const std::string& reason, std::int64_t unix_seconds);

// What to do about an event that is missing.
inline constexpr std::string_view kLossAdvice =
    "restore the ledger's files as they were committed, or, if they are gone for good, say so with "
    "`abba ledger --acknowledge-loss DIGEST --reason TEXT`";

// Enters that an event is gone for good. `missing`: all that are known to be gone, of which
// `digest` (8 digits or more) names one. Throws Error(kBadInput) if it names none or several, or if
// the reason is empty.
record::LedgerEvent acknowledge_loss(const std::filesystem::path& folder, const std::string& digest,
                                     const std::vector<MissingEvent>& missing,
                                     const std::string& reason, std::int64_t unix_seconds);
// "event 1a2b3c4d is lost, acknowledged 2026-11-29T14:47:31Z: REASON"
std::string text(const AcknowledgedLoss& loss);

// Events of `kind` for this lock. Runs count when they start; one that is resumed starts no second
// time.
int count_events(const LedgerReading& ledger, record::LedgerEventKind kind,
                 const std::string& lock_digest);
// Acknowledged losses that may have been the start of a run of this lock: those that a run file
// calls one or nobody can say what they were, and on which the registration does not itself build.
int lost_runs(const LedgerReading& ledger, const std::string& lock_digest);
// The reason of a withdrawal of this lock, or empty.
std::string withdrawn_reason(const LedgerReading& ledger, const std::string& lock_digest);
// Throws Error(kMismatch) naming every problem: what a damaged ledger counts is not to be believed.
void require_sound(const LedgerReading& ledger);
// Throws Error(kMismatch) if no event registered this lock.
void require_registered(const LedgerReading& ledger, const std::string& lock_digest);
// Throws Error(kMismatch) if the lock was withdrawn, or if max_runs (0 = no limit) runs started;
// lost_runs() count, since else a run could be unmade by losing its event.
void require_run_allowed(const LedgerReading& ledger, const std::string& lock_digest,
                         std::int64_t max_runs);

// One line an event: digest, time, lock, kind, parents; merges and heads are marked.
std::string graph(const LedgerReading& ledger);

}  // namespace abba::manifest
