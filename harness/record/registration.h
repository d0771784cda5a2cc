// What was frozen before the run (the lock), what the ledger holds, and what the first preflight
// bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/json.h"

namespace abba::record {

// How many digits name a digest to people, and how many of theirs are enough to name one.
inline constexpr std::size_t kShortDigest = 8;
inline std::string short_digest(const std::string& digest) {
  return digest.substr(0, kShortDigest);
}

struct Registration {
  std::string
      lock_digest;  // SHA-256 of the canonical lock; its first 8 digits name runs and events
  std::string manifest_digest;
  std::string registered_utc;
  std::uint64_t seed = 0;
  base::Json decisions;  // manifest digest, expanded plan, outputs and success rule
  std::map<std::string, std::string>
      sources;             // "tree/A", "file/NAME", "input/WORKLOAD", ... -> digest
  std::string commit;      // recorded, never compared
  std::string supersedes;  // an earlier lock digest, or empty
  [[nodiscard]] bool exploratory() const { return lock_digest.empty(); }
};

// One frozen thing that cannot be known before the first preflight.
struct Binding {
  std::string name;   // "executable/A", "library/A/libdnnl.so.2", "driver", "counts/WORKLOAD"
  std::string value;  // a SHA-256 or a plain value
  friend bool operator==(const Binding&, const Binding&) = default;
};

enum class LedgerEventKind {
  kRegistered,
  kBound,
  kRunStarted,
  kRunFinished,
  kWithdrawn,
  kAnchored,
  kLossAcknowledged  // about the ledger itself: its lock digest is empty
};

struct LedgerEvent {
  LedgerEventKind kind = LedgerEventKind::kRegistered;
  std::string utc;
  std::string lock_digest;
  std::vector<std::string> parents;  // digests of the events known when this one was written
  base::Json details;                // run file name, head digest, reason, ...
  std::string digest;                // SHA-256 of the event's canonical JSON
  std::string file;
};

}  // namespace abba::record
