// A whole run drawn from a seed, and the calls that write it: what the tests of the store and of
// evidence start from. Every member of every struct holds something that is not its default.
#pragma once

#include <cstdint>
#include <string>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"
#include "harness/store/run_file.h"

namespace abba::testing {

// Two workloads, one feasibility pass and two measured passes as its plan says, finished.
record::RunRecord random_run(std::uint64_t seed);
store::RunTexts texts_of(const record::RunRecord& run);
record::Analysis random_analysis(std::uint64_t seed);

// Writes what precedes the passes; then pass by pass.
store::RunFile create_run(const std::string& path, const record::RunRecord& run,
                          const store::RunFileOptions& options = {});
void commit_pass(store::RunFile& file, const record::RunRecord& run, const record::Pass& pass);
// The whole run; returns the head digest.
std::string write_run(const std::string& path, const record::RunRecord& run);

}  // namespace abba::testing
