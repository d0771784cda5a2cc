// What the ledger says about a registration: withdrawn, how often run; and its picture.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "harness/manifest/ledger.h"
#include "harness/record/names.h"

namespace abba::manifest {
namespace {

using base::Error;
using base::ErrorCode;

using record::short_digest;

// Digests of all events that the registrations of this lock build on, lost ones included: of any
// registration where there are several (two branches), so only what lies before all of them.
std::set<std::string> events_before(const LedgerReading& ledger, const std::string& lock_digest) {
  std::map<std::string, const record::LedgerEvent*> known;
  for (const record::LedgerEvent& event : ledger.events) known[event.digest] = &event;
  std::optional<std::set<std::string>> common;
  for (const record::LedgerEvent& registered : ledger.events) {
    if (registered.kind != record::LedgerEventKind::kRegistered ||
        registered.lock_digest != lock_digest) {
      continue;
    }
    std::set<std::string> before;
    std::vector<std::string> open = registered.parents;
    while (!open.empty()) {
      const std::string digest = open.back();
      open.pop_back();
      const auto event = known.find(digest);
      if (!before.insert(digest).second || event == known.end()) continue;
      const std::vector<std::string>& parents = event->second->parents;
      open.insert(open.end(), parents.begin(), parents.end());
      before.insert(event->second->details.text_or_empty("missing"));
    }
    if (!common) common = before;
    std::erase_if(*common, [&](const std::string& digest) { return before.count(digest) == 0; });
  }
  return common.value_or(std::set<std::string>());
}

}  // namespace

record::LedgerEvent withdraw(const std::filesystem::path& folder, const std::string& lock_digest,
                             const std::string& reason, std::int64_t unix_seconds) {
  if (base::trim(reason).empty()) {
    throw Error(ErrorCode::kBadInput, "withdraw", "needs a reason; the ledger keeps it");
  }
  const LedgerReading ledger = read_ledger(folder);
  require_sound(ledger);
  const auto found =
      std::find_if(ledger.events.begin(), ledger.events.end(), [&](const auto& event) {
        return event.kind == record::LedgerEventKind::kRegistered &&
               event.lock_digest.rfind(lock_digest, 0) == 0;
      });
  if (lock_digest.size() < record::kShortDigest || found == ledger.events.end()) {
    throw Error(ErrorCode::kBadInput, folder.string(),
                "knows no registration \"" + lock_digest +
                    "\"; give 8 digits or more of its lock's digest");
  }
  const base::Json details = base::Json::object({{"reason", reason}});
  return append_event(folder, record::LedgerEventKind::kWithdrawn, found->lock_digest, details,
                      unix_seconds);
}

record::LedgerEvent acknowledge_loss(const std::filesystem::path& folder, const std::string& digest,
                                     const std::vector<MissingEvent>& missing,
                                     const std::string& reason, std::int64_t unix_seconds) {
  if (base::trim(reason).empty()) {
    throw Error(ErrorCode::kBadInput, "acknowledge-loss", "needs a reason; the ledger keeps it");
  }
  std::map<std::string, std::string> named;  // digest -> kind
  for (const MissingEvent& event : missing) {
    if (event.digest.rfind(digest, 0) != 0) continue;
    std::string& kind = named[event.digest];
    if (kind.empty()) kind = event.kind;
  }
  if (digest.size() < record::kShortDigest || named.size() != 1) {
    throw Error(ErrorCode::kBadInput, folder.string(),
                "misses no event \"" + digest +
                    "\" that another event or a run file names; give 8 digits or more of one that "
                    "`abba ledger` calls missing");
  }
  const auto& [lost, kind] = *named.begin();
  base::Json details = base::Json::object({{"missing", lost}, {"reason", reason}});
  if (!kind.empty()) details.set("kind", kind);
  return append_event(folder, record::LedgerEventKind::kLossAcknowledged, "", details,
                      unix_seconds);
}

std::string text(const AcknowledgedLoss& loss) {
  return "event " + short_digest(loss.digest) + " is lost, acknowledged " + loss.utc + ": " +
         loss.reason;
}

bool LedgerReading::acknowledges(const std::string& digest) const {
  return std::any_of(losses.begin(), losses.end(),
                     [&](const auto& loss) { return loss.digest == digest; });
}

bool LedgerReading::holds(const std::string& digest) const {
  return std::any_of(events.begin(), events.end(),
                     [&](const auto& event) { return event.digest == digest; });
}

void require_sound(const LedgerReading& ledger) {
  if (!ledger.problems.empty()) {
    throw Error(ErrorCode::kMismatch, "the ledger",
                "is damaged: " + base::join(ledger.problems, "; ") + "; " +
                    (ledger.missing.empty() ? "restore its files as they were committed"
                                            : std::string(kLossAdvice)));
  }
}

void require_registered(const LedgerReading& ledger, const std::string& lock_digest) {
  const bool known = std::any_of(ledger.events.begin(), ledger.events.end(), [&](const auto& e) {
    return e.kind == record::LedgerEventKind::kRegistered && e.lock_digest == lock_digest;
  });
  if (!known) {
    throw Error(ErrorCode::kMismatch, "registration " + short_digest(lock_digest),
                "is in its lock but not in the ledger; restore the ledger's files as they were "
                "committed, or register anew with --supersede " +
                    short_digest(lock_digest));
  }
}

int count_events(const LedgerReading& ledger, record::LedgerEventKind kind,
                 const std::string& lock_digest) {
  return static_cast<int>(
      std::count_if(ledger.events.begin(), ledger.events.end(), [&](const auto& event) {
        const bool goes_on = kind == record::LedgerEventKind::kRunStarted &&
                             event.details.find("resumed") != nullptr;
        return event.kind == kind && event.lock_digest == lock_digest && !goes_on;
      }));
}

int lost_runs(const LedgerReading& ledger, const std::string& lock_digest) {
  if (ledger.losses.empty()) return 0;
  const std::set<std::string> before = events_before(ledger, lock_digest);
  const std::string_view started = record::name(record::LedgerEventKind::kRunStarted);
  return static_cast<int>(
      std::count_if(ledger.losses.begin(), ledger.losses.end(), [&](const AcknowledgedLoss& loss) {
        return (loss.kind.empty() || loss.kind == started) && before.count(loss.digest) == 0;
      }));
}

std::string withdrawn_reason(const LedgerReading& ledger, const std::string& lock_digest) {
  for (const record::LedgerEvent& event : ledger.events) {
    if (event.kind != record::LedgerEventKind::kWithdrawn || event.lock_digest != lock_digest) {
      continue;
    }
    const std::string reason = event.details.text_or_empty("reason");
    return reason.empty() ? "no reason readable" : reason;
  }
  return {};
}

void require_run_allowed(const LedgerReading& ledger, const std::string& lock_digest,
                         std::int64_t max_runs) {
  const std::string reason = withdrawn_reason(ledger, lock_digest);
  if (!reason.empty()) {
    throw Error(ErrorCode::kMismatch, "registration " + short_digest(lock_digest),
                "was withdrawn (" + reason + "); register anew with --supersede " +
                    short_digest(lock_digest));
  }
  const int started = count_events(ledger, record::LedgerEventKind::kRunStarted, lock_digest);
  const int lost = lost_runs(ledger, lock_digest);
  if (max_runs > 0 && started + lost >= max_runs) {
    const std::string more =
        lost == 0 ? ""
                  : ", with " + std::to_string(lost) +
                        " more in lost events, which may have been runs and so count";
    throw Error(ErrorCode::kMismatch, "registration " + short_digest(lock_digest),
                "allows " + std::to_string(max_runs) + " runs (max_runs) and " +
                    std::to_string(started) + " started already" + more +
                    "; to run more, register anew with --supersede " + short_digest(lock_digest));
  }
}

std::string graph(const LedgerReading& ledger) {
  std::string text;
  for (const record::LedgerEvent& event : ledger.events) {
    std::vector<std::string> parents;
    for (const std::string& parent : event.parents) parents.push_back(short_digest(parent));
    const bool head =
        std::find(ledger.heads.begin(), ledger.heads.end(), event.digest) != ledger.heads.end();
    text += head ? "* " : event.parents.size() > 1 ? "M " : "| ";
    text += short_digest(event.digest) + "  " + event.utc + "  lock " +
            short_digest(event.lock_digest) + "  " + std::string(record::name(event.kind));
    const std::string id = event.details.text_or_empty("manifest");
    if (!id.empty()) text += " " + base::clean_utf8(id);
    text += parents.empty() ? "  (first)" : "  after " + base::join(parents, ", ");
    text += "\n";
  }
  for (const AcknowledgedLoss& loss : ledger.losses) {
    text += "- " + base::clean_utf8(manifest::text(loss)) + "\n";
  }
  for (const std::string& problem : ledger.problems) {
    text += "! " + base::clean_utf8(problem) + "\n";
  }
  return text;
}

}  // namespace abba::manifest
