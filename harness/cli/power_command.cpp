// `abba power`: what a plan can see, from the noise of stored A/A runs.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "harness/cli/calibration_files.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/noise_budget.h"
#include "harness/record/names.h"
#include "harness/stats/power.h"

namespace abba::cli {
namespace {

using base::Json;
using calibration::WorkloadNoise;

constexpr double kPowers[] = {0.8, 0.9};
constexpr double kUsualEffects[] = {0.0025, 0.005, 0.01, 0.02, 0.05};

// The plan whose passes are counted: a manifest's, else the preset `standard` for one workload.
struct Planned {
  int passes = 12;
  int looks = 2;
  int workloads = 1;
  double error = 0.05;
  std::optional<double> harm_limit;
  // Of one look and, for differences, of one workload of the family (the first that Holm tests).
  [[nodiscard]] double look_alpha() const { return error / looks; }
  [[nodiscard]] double alpha() const { return look_alpha() / workloads; }
};

Planned planned(const record::Manifest& manifest) {
  const auto& protocol = manifest.protocol;
  const std::size_t primary = manifest.success.primary.empty() ? manifest.workloads.size()
                                                               : manifest.success.primary.size();
  return {protocol.passes, std::max(1, static_cast<int>(protocol.looks.size())),
          static_cast<int>(primary), 1 - manifest.success.confidence, manifest.success.harm_limit};
}

std::string percent(double log_effect) {
  return log_effect < 0 ? "not known" : fmt::format("{:.2f} %", 100 * std::expm1(log_effect));
}

std::string needed(int passes) {
  return passes < 0 ? fmt::format("> {}", stats::kMostPasses) : std::to_string(passes);
}

Json needed_json(int passes) {
  return passes < 0 ? Json() : Json(passes);
}

class Power {
 public:
  Power(const Options& options, Planned plan) : options_(options), plan_(plan) {}

  std::string text(const WorkloadNoise& noise) const {
    std::string out = fmt::format(
        "{}: pass standard deviation {:.2f} % ({} A/A runs, {} passes; {}; order {}, {} blocks a "
        "pass)\n",
        noise.workload, 100 * noise.pass_sd, noise.runs, noise.passes, noise.manifests,
        record::name(noise.order), noise.blocks);
    for (const double power : kPowers) {
      out += fmt::format(
          "  {} passes find a difference of {} and show equivalence within {} with {:.0f} % "
          "power\n",
          plan_.passes, percent(difference(noise.pass_sd, power)),
          percent(equivalence(noise.pass_sd, power)), 100 * power);
    }
    out += "  passes needed       difference 80 %   90 %   equivalence 80 %   90 %\n";
    for (const double effect : effects()) {
      const double wanted = std::log1p(effect);
      out += fmt::format("  for {:>7.2f} %  {:>20}  {:>5}  {:>17}  {:>5}\n", 100 * effect,
                         needed(for_difference(wanted, noise.pass_sd, kPowers[0])),
                         needed(for_difference(wanted, noise.pass_sd, kPowers[1])),
                         needed(for_equivalence(wanted, noise.pass_sd, kPowers[0])),
                         needed(for_equivalence(wanted, noise.pass_sd, kPowers[1])));
    }
    const int blocks = calibration::best_blocks(noise);
    if (blocks > 0) {
      out += fmt::format(
          "  blocks: starting a pass takes {:.2f} s, a block {:.2f} s, blocks spread by {:.2f} %; "
          "{} a pass give the smallest effect in a given time\n",
          noise.pass_s, noise.block_s, 100 * noise.block_sd, blocks);
    }
    if (plan_.harm_limit &&
        equivalence(noise.pass_sd, kPowers[0]) > std::log1p(*plan_.harm_limit)) {
      out += fmt::format(
          "  this plan cannot show equivalence within {:.2f} %; needs {} passes\n",
          100 * *plan_.harm_limit,
          needed(for_equivalence(std::log1p(*plan_.harm_limit), noise.pass_sd, kPowers[0])));
    }
    return out;
  }

  Json json(const WorkloadNoise& noise) const {
    Json detectable = Json::object();
    for (const double power : kPowers) {
      const std::string at = fmt::format("{:.0f}", 100 * power);
      detectable.set("difference_" + at, std::expm1(difference(noise.pass_sd, power)));
      detectable.set("equivalence_" + at, std::expm1(equivalence(noise.pass_sd, power)));
    }
    Json wanted = Json::array();
    for (const double effect : effects()) {
      Json row = Json::object({{"effect", effect}});
      for (const double power : kPowers) {
        const std::string at = fmt::format("{:.0f}", 100 * power);
        row.set("difference_" + at,
                needed_json(for_difference(std::log1p(effect), noise.pass_sd, power)));
        row.set("equivalence_" + at,
                needed_json(for_equivalence(std::log1p(effect), noise.pass_sd, power)));
      }
      wanted.push_back(std::move(row));
    }
    const int blocks = calibration::best_blocks(noise);
    return Json::object({{"workload", noise.workload},
                         {"boundary", noise.boundary},
                         {"manifests", noise.manifests},
                         {"order", record::name(noise.order)},
                         {"blocks", noise.blocks},
                         {"runs", noise.runs},
                         {"passes", noise.passes},
                         {"pass_sd", noise.pass_sd},
                         {"block_sd", noise.block_sd},
                         {"start_s", noise.pass_s},
                         {"block_s", noise.block_s},
                         {"best_blocks", blocks > 0 ? Json(blocks) : Json()},
                         {"detectable", std::move(detectable)},
                         {"passes_needed", std::move(wanted)}});
  }

  // Without any A/A run: what follows from the count of passes alone.
  std::string in_units_of_noise() const {
    return fmt::format(
        "In units of the (unknown) pass standard deviation: {} passes find a difference of {:.2f} "
        "and show equivalence within {:.2f} with 80 % power; one standard deviation takes {} / {} "
        "passes for a difference and {} / {} for equivalence at 80 / 90 % power (10 / 13 and 11 / "
        "13 at an undivided 5 %; here each of {} looks at {} workloads has its share).\n",
        plan_.passes, difference(1, kPowers[0]), equivalence(1, kPowers[0]),
        needed(for_difference(1, 1, kPowers[0])), needed(for_difference(1, 1, kPowers[1])),
        needed(for_equivalence(1, 1, kPowers[0])), needed(for_equivalence(1, 1, kPowers[1])),
        plan_.looks, plan_.workloads);
  }

 private:
  [[nodiscard]] std::vector<double> effects() const {
    if (options_.effect_percent > 0) {
      return {options_.effect_percent / 100};
    }
    return {std::begin(kUsualEffects), std::end(kUsualEffects)};
  }
  [[nodiscard]] double difference(double sd, double power) const {
    return stats::detectable_difference(plan_.passes, sd, plan_.alpha(), power);
  }
  [[nodiscard]] double equivalence(double sd, double power) const {
    return stats::detectable_margin(plan_.passes, sd, plan_.look_alpha(), power);
  }
  [[nodiscard]] int for_difference(double effect, double sd, double power) const {
    return stats::passes_for_difference(effect, sd, plan_.alpha(), power);
  }
  [[nodiscard]] int for_equivalence(double margin, double sd, double power) const {
    return stats::passes_for_equivalence(margin, sd, plan_.look_alpha(), power);
  }

  const Options& options_;
  Planned plan_;
};

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
      !options.machine_class.empty()
          ? options.machine_class
          : machine_class_here(manifest ? manifest->device : record::DeviceWish{});
  const NoiseBudget budget = noise_budget(project, machine_class);
  const auto noise = chosen(budget, manifest);
  const Power power(options, manifest ? planned(*manifest) : Planned{});
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
