// The two kinds of evidence that verify() tells apart by their first bytes.
#pragma once

#include <string>

#include "harness/evidence/verify.h"
#include "harness/record/run_record.h"

namespace abba::evidence {

VerifyResult verify_run_file(const std::string& path, const VerifyOptions& options);

// The archive is one that abba writes; its index names every entry; the run file checks out with
// the ledger that travels with it (and with the one at hand); manifest, lock, commands, report and
// script are those that follow from the run file.
VerifyResult verify_bundle(const std::string& path, const VerifyOptions& options);

// The pointer of the first member of two JSON values that differs, numbers beyond 1e-9; or "".
std::string first_difference(const base::Json& a, const base::Json& b, const std::string& pointer);

}  // namespace abba::evidence
