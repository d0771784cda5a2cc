// `abba power`: what a plan can see, from the noise of stored A/A runs.
#include <fmt/format.h>

#include <optional>

#include "harness/cli/calibration_files.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/noise_budget.h"
#include "harness/cli/power_table.h"

namespace abba::cli {
namespace {

using base::Json;
using calibration::WorkloadNoise;

// Of a manifest its workloads' best fits; without one, everything.
std::vector<WorkloadNoise> chosen(const NoiseBudget& budget,
                                  const std::optional<record::Manifest>& manifest) {
  if (!manifest) {
    return budget.noise;
  }
  std::vector<WorkloadNoise> found;
  for (const record::Workload& workload : manifest->workloads) {
    if (const auto* noise = calibration::noise_for(budget.noise, *manifest, workload.id)) {
      found.push_back(*noise);
    }
  }
  return found;
}

std::string nothing_text(const NoiseBudget& budget,
                         const std::optional<record::Manifest>& manifest) {
  return fmt::format(
      "No A/A run of {}this machine class ({}) with fresh workers lies below results/, so the "
      "noise "
      "of its passes is not known. Run a manifest whose independent_variable is \"none\", or `abba "
      "calibrate`, and ask again.\n",
      manifest && !budget.noise.empty() ? "these workloads on " : "", budget.machine_class);
}

}  // namespace

int power_command(const Options& options) {
  std::optional<record::Manifest> manifest;
  manifest::Project project;
  if (options.manifest.empty()) {
    project = manifest::find_project(std::filesystem::current_path());
  } else {
    Loaded loaded = load_manifest(options.manifest);
    manifest = std::move(loaded.manifest);
    project = std::move(loaded.project);
  }
  const std::string machine_class =
      machine_class_of(options.machine_class, manifest ? manifest->device : record::DeviceWish{});
  const NoiseBudget budget = noise_budget(project, machine_class);
  const auto noise = chosen(budget, manifest);
  const PowerTable power(manifest ? planned_passes(*manifest) : PlannedPasses{},
                         options.effect_percent / 100);
  if (options.json) {
    Json rows = Json::array();
    for (const WorkloadNoise& row : noise) {
      rows.push_back(power.json(row));
    }
    Json files = Json::array();
    for (const std::string& file : budget.files) {
      files.push_back(file);
    }
    print(Json::object({{"machine_class", machine_class},
                        {"a_a_runs", std::move(files)},
                        {"workloads", std::move(rows)}})
              .dump_pretty());
    return kDone;
  }
  if (noise.empty()) {
    print(nothing_text(budget, manifest) + power.in_units_of_noise());
    return kDone;
  }
  print("machine class " + machine_class + "\n");
  for (const WorkloadNoise& row : noise) {
    print(power.text(row));
  }
  return kDone;
}

}  // namespace abba::cli
