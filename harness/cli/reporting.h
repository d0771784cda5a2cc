// From a run file to its report: the context that the file does not hold, and the files written.
#pragma once

#include <filesystem>
#include <string>

#include "harness/evidence/verify.h"
#include "harness/manifest/project.h"
#include "harness/record/run_record.h"
#include "harness/record/verdict.h"
#include "harness/report/report.h"

namespace abba::cli {

// What the file proves, with the project's ledger if it is at hand.
evidence::VerifyResult verify_file(const std::filesystem::path& run_file,
                                   const manifest::Project& project,
                                   const evidence::AnchorSources& sources = {});

// Runs and attempts of this experiment before this run that are known here.
int attempts_before(const record::RunRecord& run, const manifest::Project& project);

// Where a file lies, as a reader elsewhere may know it: relative to the project, or its name.
std::string shown_path(const std::filesystem::path& path, const manifest::Project& project);

// A run without an end has no verdict: while it goes on `analysis` says how far it is and nothing
// of its numbers, since a look between the registered ones bends the rule; where its harness died,
// that comes first. `run.state_text` says the same. Leaves every other run alone.
void describe_no_end(const std::filesystem::path& run_file, record::RunRecord& run,
                     record::Analysis& analysis);

// Verifies the file, digests it and counts the attempts known here.
report::ReportContext report_context(const std::filesystem::path& run_file,
                                     const record::RunRecord& run,
                                     const manifest::Project& project);

// Both files or, if the second cannot be written, neither. The picture is named like the text.
void write_with_picture(const std::filesystem::path& markdown, const std::string& text,
                        const std::string& svg);

struct WrittenReport {
  std::filesystem::path markdown;
  std::string summary;
};

// Writes reports/<id>/<run>.md and .svg of the project; beside the run file if exploratory.
WrittenReport write_report(const std::filesystem::path& run_file, const manifest::Project& project,
                           bool exploratory);

}  // namespace abba::cli
