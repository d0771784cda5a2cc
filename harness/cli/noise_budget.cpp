#include "harness/cli/noise_budget.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "engine/base/error.h"
#include "harness/calibration/machine_class.h"
#include "harness/cli/calibration_files.h"
#include "harness/cli/context.h"
#include "harness/cli/reporting.h"
#include "harness/stats/same_hash.h"
#include "harness/store/run_file.h"

namespace abba::cli {
namespace {

namespace fs = std::filesystem;

// Cheap looks first: a run's samples are read only if it is an A/A run of the class.
bool may_tell(const fs::path& file, const std::string& machine_class) {
  store::ReadOptions options;
  options.samples = options.environment = options.check = false;
  const record::RunRecord run = store::read_run(file.string(), options);
  return run.state == record::RunState::kFinished && stats::arms_are_equal(run) &&
         calibration::machine_class(run.identity) == machine_class;
}

}  // namespace

NoiseBudget noise_budget(const manifest::Project& project, const std::string& machine_class) {
  NoiseBudget budget;
  budget.machine_class = machine_class;
  std::vector<fs::path> files = run_files(project, "", false);
  const auto calibrations = run_files(project, "calibration/" + machine_class + "/equal", false);
  files.insert(files.end(), calibrations.begin(), calibrations.end());
  std::vector<record::RunRecord> runs;
  for (const fs::path& file : files) {
    try {
      if (!may_tell(file, machine_class)) {
        continue;
      }
      record::RunRecord run = store::read_run(file.string());
      if (calibration::tells_noise(run)) {
        budget.files.push_back(shown_path(file, project));
        runs.push_back(std::move(run));
      }
    } catch (const base::Error& error) {
      std::fprintf(stderr, "abba: %s is passed over: %s\n", shown_path(file, project).c_str(),
                   error.message().c_str());
    }
  }
  budget.noise = calibration::noise_of(runs);
  return budget;
}

}  // namespace abba::cli
