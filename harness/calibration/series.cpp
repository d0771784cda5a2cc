#include "harness/calibration/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "harness/stats/estimators.h"
#include "harness/stats/measured.h"

namespace abba::calibration {
namespace {

using base::Json;

constexpr double kDetection = 0.9;  // of runs with the spin that must be found

Json spin(double fraction, bool on_device) {
  Json effect = Json::object({{"kind", "spin"}, {"fraction", fraction}});
  if (on_device) {
    effect.set("where", "device");
  }
  return effect;
}

Json delay(double ns) {
  return Json::object({{"kind", "delay"}, {"ns", std::round(ns)}});
}

int fewer(const SeriesOptions& options, int divisor, int quick) {
  return options.quick ? quick : std::max(1, options.runs / divisor);
}

Series spin_series(const SeriesOptions& options, double fraction, int divisor) {
  Series series;
  series.name = fmt::format("spin-{:g}-percent", 100 * fraction);
  std::replace(series.name.begin(), series.name.end(), '.', '_');
  series.what = fmt::format("B spins {:g} % longer in every request", 100 * fraction);
  series.role = Role::kKnownEffect;
  series.inject_b = spin(fraction, options.on_device);
  series.effect = fraction;
  series.runs = fewer(options, divisor, 1);
  return series;
}

Series one_position(const SeriesOptions& options, const Request& request) {
  Series series;
  series.name = "one-position";
  series.what = "every first slot of a block is slower, whichever arm stands there";
  series.role = Role::kAveragesOut;
  // Beyond the harm limit, so that a delay that did not average out would be called a regression.
  series.inject_a = delay(2 * options.harm_limit * request.median_ns);
  series.inject_a.set("position", 0);
  series.inject_b = series.inject_a;
  series.runs = fewer(options, 5, 1);
  return series;
}

Series drift(const SeriesOptions& options, const Request& request) {
  Series series;
  series.name = "drift";
  series.what = "both arms grow slower request by request through a pass";
  series.role = Role::kAveragesOut;
  const double whole_pass_ns = 4 * options.harm_limit * request.median_ns;
  series.inject_a = Json::object(
      {{"kind", "drift"}, {"ns_per_request", whole_pass_ns / std::max(1.0, request.of_a_worker)}});
  series.inject_b = series.inject_a;
  series.runs = fewer(options, 5, 1);
  return series;
}

}  // namespace

Request request_of(const record::RunRecord& run) {
  Request request;
  std::vector<double> durations;
  for (const record::Pass* pass : stats::counted_passes(run)) {
    double samples = 0;
    for (const record::Block& block : pass->blocks) {
      for (const record::Slot& slot : block.slots) {
        samples += static_cast<double>(slot.samples.size());
        for (const record::Sample& sample : slot.samples) {
          if (!sample.warmup) {
            durations.push_back(static_cast<double>(sample.duration_ns));
          }
        }
      }
    }
    request.of_a_worker = std::max(request.of_a_worker, samples / 2);
  }
  request.median_ns = durations.empty() ? 0 : stats::median(std::move(durations));
  return request;
}

Series equal_series(const SeriesOptions& options) {
  Series series;
  series.name = "equal";
  series.what = "nothing differs";
  series.runs = options.quick ? 2 : options.runs;
  return series;
}

std::vector<Series> all_series(const SeriesOptions& options, const Request& request) {
  if (std::find(kSpins.begin(), kSpins.end(), options.effect) == kSpins.end()) {
    throw base::Error(base::ErrorCode::kBadInput, "--effect",
                      fmt::format("{:g} % is no spin that a calibration measures; choose 2, 1, 0.5 "
                                  "or 0.25",
                                  100 * options.effect));
  }
  std::vector<Series> all = {equal_series(options), spin_series(options, options.effect, 1)};
  all.back().share_found = kDetection;
  for (const double other : kSpins) {
    if (other != options.effect) {
      all.push_back(spin_series(options, other, 3));
    }
  }
  Series constant;
  constant.name = "delay";
  constant.what = "every request of B takes a constant time more";
  constant.role = Role::kKnownEffect;
  constant.effect = options.harm_limit;
  constant.inject_b = delay(options.harm_limit * request.median_ns);
  constant.runs = fewer(options, 5, 1);
  constant.share_found = 1;
  all.push_back(constant);
  all.push_back(one_position(options, request));
  all.push_back(drift(options, request));
  Series hidden = constant;
  hidden.name = "hidden-delay";
  hidden.what = "B takes twice the harm limit more, and the judge is told that nothing differs";
  hidden.role = Role::kHiddenDelay;
  hidden.effect = 2 * options.harm_limit;
  hidden.inject_b = delay(2 * options.harm_limit * request.median_ns);
  hidden.runs = fewer(options, 10, 1);
  hidden.share_found = 0;  // not by direction: by how often it breaks the test of false verdicts
  all.push_back(hidden);
  return all;
}

Json manifest_of(const Json& base, const Series& series, int passes) {
  Json manifest = base;
  const bool differs = !(series.inject_a == series.inject_b);
  manifest.set("independent_variable", differs ? "inject" : "none");
  for (const char* arm : {"A", "B"}) {
    const Json& inject = *arm == 'A' ? series.inject_a : series.inject_b;
    if (!inject.is_null()) {
      manifest.find("arms")->find(arm)->set("inject", inject);
    }
  }
  if (series.role == Role::kEqual || series.role == Role::kHiddenDelay) {
    Json looks = Json::array();
    looks.push_back(passes);
    manifest.find("protocol")->set("looks", std::move(looks));
  }
  if (series.role == Role::kKnownEffect) {
    // Judged by its direction, so no look may end it for anything else.
    manifest.find("success")->set("claim", "faster");
  }
  return manifest;
}

}  // namespace abba::calibration
