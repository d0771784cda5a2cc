#include "harness/cli/interrupted.h"

#include <filesystem>
#include <vector>

#include "engine/base/error.h"
#include "harness/cli/reporting.h"
#include "harness/manifest/canonical.h"
#include "harness/store/run_file.h"

namespace abba::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

bool same_experiment(const Execution& execution, const record::RunRecord& run) {
  return execution.lock.exploratory()
             ? run.exploratory &&
                   manifest::digest(run.manifest) == manifest::digest(execution.loaded.manifest)
             : run.registration.lock_digest == execution.lock.lock_digest;
}

void require_resumable(const Execution& execution, const record::RunRecord& run) {
  if (run.state == record::RunState::kFinished) {
    throw Error(ErrorCode::kBadInput, run.file,
                "is finished, there is nothing to resume; start a new run");
  }
  if (!same_experiment(execution, run)) {
    throw Error(ErrorCode::kMismatch, run.file,
                "belongs to another registration than " + execution.loaded.manifest.path +
                    "; resume it with the manifest and lock that it was started with");
  }
  if (store::is_being_written(run.file)) {
    throw Error(ErrorCode::kPreflight, run.file,
                "is being written by a run that is still going; wait for it or stop it");
  }
  const evidence::VerifyResult found = verify_file(run.file, execution.loaded.project);
  if (found.ending == evidence::Ending::kBroken) {
    throw Error(ErrorCode::kEvidence, run.file,
                found.sentence + "; restore the file as it was, or start a new run");
  }
}

record::RunRecord read(const fs::path& file) {
  record::RunRecord run = store::read_run(file.string());
  run.file = file.string();
  return run;
}

}  // namespace

record::RunRecord find_interrupted(const Execution& execution) {
  if (!execution.resume_file.empty()) {
    record::RunRecord run = read(execution.resume_file);
    require_resumable(execution, run);
    return run;
  }
  const bool exploratory = execution.lock.exploratory();
  const std::vector<fs::path> candidates =
      run_files(execution.loaded.project, execution.loaded.manifest.id, exploratory);
  for (auto file = candidates.rbegin(); file != candidates.rend(); ++file) {
    record::RunRecord run;
    try {
      run = read(*file);
    } catch (const Error& error) {
      complain(shown_path(*file, execution.loaded.project) + " is passed over: " + error.message());
      continue;
    }
    if (run.state != record::RunState::kFinished && same_experiment(execution, run)) {
      require_resumable(execution, run);
      return run;
    }
  }
  throw Error(ErrorCode::kBadInput, execution.loaded.manifest.id,
              "has no interrupted run of this registration to resume; name its file after "
              "--resume, or start a new run");
}

}  // namespace abba::cli
