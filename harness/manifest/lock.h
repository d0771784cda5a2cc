// Registration: M.lock.json freezes decisions (manifest digest, expanded manifest, plan, outputs
// and success rule) and sources (trees, build recipe, files, inputs) before anything is measured.
// Writes the lock whole or not at all and one ledger event; starts no worker, needs no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/manifest/files.h"
#include "harness/manifest/project.h"
#include "harness/record/manifest.h"
#include "harness/record/registration.h"

namespace abba::manifest {

struct RegisterOptions {
  std::int64_t unix_seconds = 0;  // now, from the caller's clock
  std::string supersede;          // digest (8 digits or more) of the lock to replace, or empty
  base::Json plan;                // the unrolled plan, frozen among the decisions; null = left out
  std::string program;            // what {abba} stands for in `make` commands
  bool allow_make = true;
};

struct Registered {
  record::Registration registration;
  record::LedgerEvent event;  // empty digest if `existed`
  std::string lock_file;
  bool existed = false;  // the same registration stood there already; nothing was written
  std::vector<std::string> notes;
};

// Throws Error(kMismatch) if a different lock exists, or was deleted although the ledger knows it,
// and `supersede` does not name it; if the ledger is damaged; or if a hash the manifest fixes does
// not hold. Throws Error(kPreflight) if a file is missing.
Registered register_manifest(const record::Manifest& manifest, const Project& project,
                             const RegisterOptions& options);

// Throws Error(kBadInput) if there is none or it is malformed, Error(kMismatch) if its digest does
// not match its content.
record::Registration load_lock(const std::string& lock_file);
// The lock's JSON text as written; its canonical form without "digest" is what the digest covers.
base::Json to_json(const record::Registration& registration);

struct Mismatch {
  std::string name;        // "manifest", "tree/A", "file/weights", "input/w1", "build", ...
  std::string registered;  // digest or value
  std::string found;
  std::string detail;  // which files of a tree, which part of the manifest, or empty
};
std::string text(const Mismatch& mismatch);

struct LockCheck {
  std::vector<Mismatch> mismatches;  // any: refuse, exit 3
  std::vector<std::string> notes;    // what could not be compared here, and why
  std::vector<ResolvedFile> files;   // as needed to load workers
};

// Recomputes everything that can be recomputed here and names each difference. Missing files are
// made first if allowed. Throws as resolve_files does when a file is missing.
LockCheck check_lock(const record::Manifest& manifest, const record::Registration& lock,
                     const Project& project, const MakeOptions& options);

}  // namespace abba::manifest
