// The checks on what the rows say: each returns what fails in one sentence, or an empty string.
#pragma once

#include <string>

#include "harness/evidence/verify.h"
#include "harness/record/run_record.h"
#include "harness/record/verdict.h"
#include "harness/store/run_file.h"

namespace abba::evidence {

// The manifest has the digest registered, and its three stored forms (as written, expanded, parsed)
// are one manifest.
std::string check_manifest(const record::RunRecord& run, const store::RunTexts& texts);
// The lock has the digest the run names, and froze this manifest and this plan.
std::string check_lock(const record::RunRecord& run, const store::RunTexts& texts);
// Every pass that counts holds the blocks of the plan, every block its slots, every slot its
// requests; a finished run holds the passes of a look. Names what is missing.
std::string check_counts(const record::RunRecord& run);
// What the graph-capture pass stored is of planned arms and workloads, each from a worker of its
// arm in which nothing was timed; nothing is missing without a note that says why.
std::string check_captures(const record::RunRecord& run);
// The blocks of a trace pass against the plan; see check_traces.cpp.
std::string check_traced_pass(const record::RunRecord& run, const record::Pass& pass,
                              const record::PlannedPass& planned);
// Where the manifest asks for outputs and both arms can show them: both were checked on every
// workload, with digests.
std::string check_outputs(const record::RunRecord& run);
// The stored verdicts are those that follow from the samples: words and text equal, numbers to
// 1e-9.
std::string check_verdicts(const record::Analysis& stored, const record::Analysis& recomputed);

// The ledger's events about this file name heads of its chain; the head of a run that ended is
// named, unless its harness died before it could say so.
Check check_ledger(const record::RunRecord& run, const std::vector<std::string>& chain_digests,
                   const std::string& folder);

}  // namespace abba::evidence
