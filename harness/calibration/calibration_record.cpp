#include "harness/calibration/calibration_record.h"

#include <fmt/format.h>

#include "engine/base/error.h"

namespace abba::calibration {
namespace {

using base::Json;

constexpr const char* kSchema = "abba.calibration/1";

Json check_json(const Check& check) {
  return Json::object({{"name", check.name},
                       {"what", check.what},
                       {"count", check.count},
                       {"of", check.of},
                       {"least", check.least},
                       {"most", check.most},
                       {"holds", check.holds()}});
}

Json series_json(const SeriesResult& series) {
  return Json::object({{"name", series.name},
                       {"what", series.what},
                       {"true_effect", series.effect},
                       {"runs", series.runs},
                       {"runs_planned", series.wanted},
                       {"regressed", series.found},
                       {"improved", series.opposite},
                       {"invalid", series.invalid},
                       {"intervals_that_hold_the_true_effect", series.covered},
                       {"mean_estimate", series.estimate},
                       {"pass_sd", series.pass_sd}});
}

Json texts(const std::vector<std::string>& values) {
  Json array = Json::array();
  for (const std::string& value : values) {
    array.push_back(value);
  }
  return array;
}

std::string count_of(const Result& result, const std::string& name) {
  const Check* check = result.check(name);
  return check == nullptr ? "0 of 0" : fmt::format("{} of {}", check->count, check->of);
}

}  // namespace

std::string sentence(const Result& result) {
  std::string text = fmt::format(
      "95 % intervals missed zero in {} relabelled A/A runs, false verdicts {} (claim equivalent) "
      "and {} (claim faster)",
      count_of(result, "intervals"), count_of(result, "verdicts-equivalent"),
      count_of(result, "verdicts-faster"));
  for (const SeriesResult& series : result.series) {
    if (series.name.rfind("spin-", 0) == 0 && series.runs > 0) {
      text += fmt::format(", an injected {:g} % found in {} of {}", 100 * series.effect,
                          series.found, series.runs);
    }
  }
  return text;
}

Json to_json(const CalibrationRecord& record) {
  Json checks = Json::array();
  for (const Check& check : record.result.checks) {
    checks.push_back(check_json(check));
  }
  Json series = Json::array();
  for (const SeriesResult& result : record.result.series) {
    series.push_back(series_json(result));
  }
  Json runs = Json::array();
  for (const RunDigest& run : record.runs) {
    runs.push_back(Json::object({{"series", run.series}, {"file", run.file}, {"head", run.head}}));
  }
  return Json::object({{"schema", kSchema},
                       {"utc", record.utc},
                       {"machine_class", record.machine_class},
                       {"holds", record.result.holds()},
                       {"sentence", sentence(record.result)},
                       {"manifest", record.manifest_id},
                       {"manifest_digest", record.manifest_digest},
                       {"harm_limit", record.result.harm_limit},
                       {"pass_sd", record.result.pass_sd},
                       {"relabelling_seed", kSeed},
                       {"programs", texts(record.programs)},
                       {"workers", texts(record.workers)},
                       {"checks", std::move(checks)},
                       {"series", std::move(series)},
                       {"runs", std::move(runs)}});
}

Citation citation(const Json& json, const std::string& where) {
  if (!json.is_object() || json.get_string("schema", where) != kSchema) {
    throw base::Error(base::ErrorCode::kBadInput, where,
                      std::string("is no calibration record (schema ") + kSchema +
                          "); restore it, or remove it and run `abba calibrate`");
  }
  Citation found;
  found.utc = json.get_string("utc", where);
  found.holds = json.get_bool("holds", where);
  found.sentence = json.get_string("sentence", where);
  return found;
}

std::string table(const Result& result) {
  std::string text;
  for (const Check& check : result.checks) {
    const std::string wanted = check.least == check.most
                                   ? fmt::format("{}", check.least)
                                   : fmt::format("{} to {}", check.least, check.most);
    text += fmt::format("  {}  {} of {} {}; wanted {}\n", check.holds() ? "ok  " : "FAIL",
                        check.count, check.of, check.what, wanted);
  }
  for (const SeriesResult& series : result.series) {
    text += fmt::format(
        "  --    {}: {} of {} runs; true effect {:+.2f} %, mean estimate {:+.2f} %, pass sd {:.2f} "
        "%, regressed {}, improved {}, invalid {}, 95 % interval holds it in {}\n",
        series.name, series.runs, series.wanted, 100 * series.effect, 100 * series.estimate,
        100 * series.pass_sd, series.found, series.opposite, series.invalid, series.covered);
  }
  return text;
}

}  // namespace abba::calibration
