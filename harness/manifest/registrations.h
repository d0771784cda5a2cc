// The ledger read registration by registration: which manifest, when, replaced or withdrawn, how
// often run and how those runs ended. What `abba ledger M` prints, and what tells a registration
// whose lock was deleted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/manifest/ledger.h"
#include "harness/manifest/project.h"
#include "harness/record/manifest.h"

namespace abba::manifest {

struct RegistrationHistory {
  std::string lock_digest;
  std::string manifest_id;
  std::string file;  // of the manifest, as the ledger names it
  std::string registered_utc;
  std::string superseded_by;  // the lock that names it, or empty
  std::string withdrawn;      // the reason, or empty
  int runs = 0;               // started; a resumed run started once
  int finished = 0;
  int stopped = 0;
  int broken = 0;
  std::vector<std::string> anchors;  // "METHOD UTC"
};

// In the order of the ledger.
std::vector<RegistrationHistory> registrations(const LedgerReading& ledger);

// Those of one manifest: of its id, or of its file under an earlier id.
std::vector<RegistrationHistory> registrations_of(const LedgerReading& ledger,
                                                  const record::Manifest& manifest,
                                                  const Project& project);

// The latest registration of this manifest that nothing replaced and whose lock file is gone, or
// none: a lock must not be forgotten by deleting it.
std::optional<RegistrationHistory> without_lock(const LedgerReading& ledger,
                                                const record::Manifest& manifest,
                                                const Project& project);

// The events about these registrations alone; problems stay, heads are those of the whole ledger.
LedgerReading only_about(const LedgerReading& ledger,
                         const std::vector<RegistrationHistory>& registrations);

// One line a registration: "registration 1a2b3c4d of FILE, 2026-...: 2 runs (1 finished, ...)".
std::string text(const RegistrationHistory& registration);

}  // namespace abba::manifest
