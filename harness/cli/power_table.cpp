#include "harness/cli/power_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "engine/base/text.h"
#include "harness/record/names.h"
#include "harness/stats/power.h"

namespace abba::cli {
namespace {

using base::Json;
using calibration::WorkloadNoise;

constexpr double kPowers[] = {0.8, 0.9};
constexpr double kUsualEffects[] = {0.0025, 0.005, 0.01, 0.02, 0.05};

std::string percent(double log_effect) {
  return log_effect < 0 ? "not known" : fmt::format("{:.2f} %", 100 * std::expm1(log_effect));
}

std::string needed(int passes) {
  return passes < 0 ? fmt::format("> {}", stats::kMostPasses) : std::to_string(passes);
}

Json needed_json(int passes) {
  return passes < 0 ? Json() : Json(passes);
}

}  // namespace

PlannedPasses planned_passes(const record::Manifest& manifest) {
  const auto& protocol = manifest.protocol;
  const std::size_t primary = manifest.success.primary.empty() ? manifest.workloads.size()
                                                               : manifest.success.primary.size();
  return {protocol.passes, std::max(1, static_cast<int>(protocol.looks.size())),
          static_cast<int>(primary), 1 - manifest.success.confidence, manifest.success.harm_limit};
}

std::string PowerTable::text(const WorkloadNoise& noise) const {
  std::string out = fmt::format(
      "{}: pass standard deviation {:.2f} % ({} A/A runs, {} passes; {}; order {}, {} blocks a "
      "pass)\n",
      noise.workload, 100 * noise.pass_sd, noise.runs, noise.passes,
      base::join({noise.manifests.begin(), noise.manifests.end()}, ", "), record::name(noise.order),
      noise.blocks);
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
  if (plan_.harm_limit && equivalence(noise.pass_sd, kPowers[0]) > std::log1p(*plan_.harm_limit)) {
    out += fmt::format(
        "  this plan cannot show equivalence within {:.2f} %; needs {} passes\n",
        100 * *plan_.harm_limit,
        needed(for_equivalence(std::log1p(*plan_.harm_limit), noise.pass_sd, kPowers[0])));
  }
  return out;
}

Json PowerTable::json(const WorkloadNoise& noise) const {
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
  Json manifests = Json::array();
  for (const std::string& id : noise.manifests) {
    manifests.push_back(id);
  }
  const int blocks = calibration::best_blocks(noise);
  return Json::object({{"workload", noise.workload},
                       {"boundary", noise.boundary},
                       {"manifests", std::move(manifests)},
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

std::string PowerTable::in_units_of_noise() const {
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

std::vector<double> PowerTable::effects() const {
  if (wanted_effect_ > 0) {
    return {wanted_effect_};
  }
  return {std::begin(kUsualEffects), std::end(kUsualEffects)};
}

double PowerTable::difference(double sd, double power) const {
  return stats::detectable_difference(plan_.passes, sd, plan_.alpha(), power);
}

double PowerTable::equivalence(double sd, double power) const {
  return stats::detectable_margin(plan_.passes, sd, plan_.look_alpha(), power);
}

int PowerTable::for_difference(double effect, double sd, double power) const {
  return stats::passes_for_difference(effect, sd, plan_.alpha(), power);
}

int PowerTable::for_equivalence(double margin, double sd, double power) const {
  return stats::passes_for_equivalence(margin, sd, plan_.look_alpha(), power);
}

}  // namespace abba::cli
