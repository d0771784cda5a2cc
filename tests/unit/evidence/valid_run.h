// A run that checks out in every point, and the author who recomputes every digest after an edit.
#pragma once

#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/store/archive.h"
#include "harness/store/run_file.h"

namespace abba::testing {

// A random run made true to one valid manifest, its lock and its plan.
record::RunRecord valid_run();
store::RunTexts texts_of_valid(const record::RunRecord& run);

// The whole run with its verdicts; returns the head digest.
std::string write_valid(const std::string& path, const record::RunRecord& run);

// What a determined author does: every digest of the chain anew.
void recompute_chain(const std::string& path);
// And the verdicts anew, as the samples now give them.
void recompute_verdicts(const std::string& path);
// And the index of a bundle (its entry bundle.json), as the other entries now are.
void recompute_index(std::vector<store::ArchiveEntry>& entries);

}  // namespace abba::testing
