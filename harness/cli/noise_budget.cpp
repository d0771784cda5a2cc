#include "harness/cli/noise_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/base/error.h"
#include "harness/calibration/machine_class.h"
#include "harness/cli/calibration_files.h"
#include "harness/cli/context.h"
#include "harness/cli/reporting.h"
#include "harness/stats/power.h"
#include "harness/stats/same_hash.h"
#include "harness/store/run_file.h"
#include "harness/store/run_list.h"

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
  for (const fs::path& folder : folders_of_manifests(calibration_folder(project, machine_class))) {
    const auto calibrations = store::run_files_in(folder / "equal");
    files.insert(files.end(), calibrations.begin(), calibrations.end());
  }
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
      complain(shown_path(file, project) + " is passed over: " + error.message());
    }
  }
  budget.noise = calibration::noise_of(runs);
  return budget;
}

std::vector<std::string> plan_warnings(const record::Manifest& manifest,
                                       const NoiseBudget& budget) {
  std::vector<std::string> warnings;
  const auto& protocol = manifest.protocol;
  if (protocol.preset != record::Preset::kStandard) {
    return warnings;
  }
  const double alpha = (1 - manifest.success.confidence) /
                       static_cast<double>(std::max<std::size_t>(1, protocol.looks.size()));
  for (const record::Workload& workload : manifest.workloads) {
    const auto* noise = calibration::noise_for(budget.noise, manifest, workload.id);
    if (noise == nullptr || noise->subject != calibration::subject_of(manifest)) {
      continue;
    }
    const double margin = std::log1p(manifest.success.harm_limit.value_or(0));
    if (manifest.success.harm_limit &&
        stats::detectable_margin(protocol.passes, noise->pass_sd, alpha) > margin) {
      const int needed = stats::passes_for_equivalence(margin, noise->pass_sd, alpha);
      warnings.push_back(fmt::format(
          "{}: this plan cannot show equivalence within {:.2f} %; needs {} passes (pass standard "
          "deviation {:.2f} % in {} A/A runs)",
          workload.id, 100 * *manifest.success.harm_limit,
          needed > 0 ? std::to_string(needed) : "more than 10000", 100 * noise->pass_sd,
          noise->runs));
    }
    const int blocks = calibration::best_blocks(*noise);
    if (blocks > 0 && (blocks >= 2 * protocol.blocks || 2 * blocks <= protocol.blocks)) {
      warnings.push_back(fmt::format(
          "{}: {} blocks a pass would find the smallest effect in the same time, the plan has {}",
          workload.id, blocks, protocol.blocks));
    }
  }
  return warnings;
}

}  // namespace abba::cli
