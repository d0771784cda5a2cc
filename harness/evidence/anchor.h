// Anchors: a registration's digest made to stand somewhere else, and what such a stand proves. Only
// an anchor tells a run that was registered before from one whose author computed every digest
// anew afterwards; each is worth as much as whoever keeps it.
//
//   rfc3161     a time stamp of the lock's digest; kept in the ledger event, checked offline
//   git-remote  a tag that names a blob made of the digest, pushed to a remote; when it came there
//               only a reflog of the remote, or of a mirror that somebody else keeps, can say
//   FILE        a line appended to a file that somebody keeps
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/evidence/verify.h"
#include "harness/manifest/ledger.h"
#include "harness/manifest/project.h"
#include "harness/record/registration.h"

namespace abba::evidence {

struct AnchorRequest {
  std::string method;             // "rfc3161", "git-remote", or the path of a file
  std::string authority;          // rfc3161: the URL of the authority
  std::string ca_file;            // rfc3161: its certificates, PEM
  std::string remote = "origin";  // git-remote
};

// Throws Error(kBadInput) for what can be seen to be missing or wrong before anybody is asked.
void require_sound(const AnchorRequest& request);

// Makes the registration's digest stand there and returns the details of the ledger event
// ("anchored"). Throws Error(kBadInput) for what is missing of the request, Error(kBroken) if the
// other side cannot be reached or refuses, Error(kEvidence) if what it sent does not hold. Runs
// curl or git.
base::Json make_anchor(const AnchorRequest& request, const record::Registration& lock,
                       const std::string& manifest_id, const manifest::Project& project,
                       std::int64_t unix_seconds);

struct AnchorFindings {
  std::vector<Anchor> anchors;  // those that hold, with their time
  std::vector<Check> checks;    // one each
};

// What the ledger's "anchored" events about this lock, and what the reader brought, prove now.
// Never throws for what lies in the ledger.
AnchorFindings find_anchors(const manifest::LedgerReading& ledger, const std::string& lock_digest,
                            const AnchorSources& sources);

}  // namespace abba::evidence
