// Names of machine classes, manifests of series, the record and what a report cites of it.
#include <gtest/gtest.h>

#include <map>

#include "engine/base/error.h"
#include "harness/calibration/calibration_record.h"
#include "harness/calibration/machine_class.h"
#include "harness/calibration/series.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::calibration {
namespace {

using base::Json;

TEST(MachineClass, is_the_device_or_the_cpu_and_how_many) {
  EXPECT_EQ(machine_class({{"cpu", "cpu family", "26"},
                           {"cpu", "model", "2"},
                           {"cpu", "model name", "AMD EPYC"},
                           {"cpu", "online", "0-1"}}),
            "amd-epyc-family-26-model-2-2-cpus");
  EXPECT_NE(machine_class({{"cpu", "cpu family", "25"},
                           {"cpu", "model", "2"},
                           {"cpu", "model name", "AMD EPYC"},
                           {"cpu", "online", "0-1"}}),
            machine_class({{"cpu", "cpu family", "26"},
                           {"cpu", "model", "2"},
                           {"cpu", "model name", "AMD EPYC"},
                           {"cpu", "online", "0-1"}}))
      << "one name for two generations";
  EXPECT_EQ(machine_class({{"cpu", "model name", "AMD EPYC"}, {"cpu", "online", "0-1"}}),
            "amd-epyc-2-cpus")
      << "a kernel that tells no family";
  EXPECT_EQ(machine_class({{"cpu", "model name", "Intel(R) Xeon(R) Gold 6338 @ 2.0GHz"},
                           {"cpu", "online", "0-3,8,10-11"}}),
            "intel-xeon-gold-6338-2-0ghz-7-cpus");
  EXPECT_EQ(machine_class({{"cpu", "model name", "AMD EPYC"}, {"device", "name", "NVIDIA H200"}}),
            "nvidia-h200");
  EXPECT_EQ(machine_class({{"cpu", "model name", "unreadable: /proc/cpuinfo cannot be read"}}),
            "unknown-cpu-0-cpus");
}

Json base_manifest() {
  return base::parse_json(
      R"({"id":"c","independent_variable":"none","arms":{"A":{},"B":{}},"protocol":{},
          "success":{"claim":"equivalent"}})",
      "");
}

TEST(Series, only_what_is_injected_differs_between_the_manifests) {
  const auto all = all_series({}, {2e6, 100});
  std::map<std::string, Json> manifests;
  for (const Series& series : all) {
    manifests[series.name] = manifest_of(base_manifest(), series, 12);
  }
  ASSERT_EQ(manifests.size(), 9U);
  EXPECT_EQ(manifests["equal"].find("protocol")->dump(), R"({"looks":[12]})")
      << "an A/A run gives all its passes";
  EXPECT_EQ(manifests["spin-0_25-percent"].find("arms")->dump(),
            R"({"A":{},"B":{"inject":{"kind":"spin","fraction":0.0025}}})");
  EXPECT_EQ(manifests["spin-2-percent"].find("independent_variable")->as_string(), "inject");
  EXPECT_EQ(manifests["spin-2-percent"].find("protocol")->dump(), "{}");
  for (const Series& series : all) {
    EXPECT_EQ(manifests[series.name].find("success")->get_string("claim", ""),
              series.role == Role::kKnownEffect ? "faster" : "equivalent")
        << series.name << ": what is found by its direction must not end as equivalent";
  }
  const Json& position = *manifests["one-position"].find("arms");
  EXPECT_EQ(position.find("A")->dump(), position.find("B")->dump()) << "both arms alike";
  EXPECT_EQ(position.find("A")->find("inject")->dump(),
            R"({"kind":"delay","ns":200000,"position":0})");
  EXPECT_EQ(manifests["one-position"].find("independent_variable")->as_string(), "none");
  EXPECT_EQ(manifests["drift"].find("arms")->find("B")->find("inject")->dump(),
            R"({"kind":"drift","ns_per_request":4000})")
      << "four harm limits of 2 ms over 100 requests";
}

// Passes that a statistic leaves out tell nothing of the requests that delays are made of.
TEST(Series, a_request_is_that_of_the_passes_that_count) {
  synthetic::Spec spec;
  spec.workloads = {"w"};
  spec.passes = 6;
  spec.equal_arms = true;
  record::RunRecord run = synthetic::make_run(spec);
  const Request whole = request_of(run);
  EXPECT_NEAR(whole.median_ns, spec.base_ns, 0.01 * spec.base_ns);
  EXPECT_EQ(whole.of_a_worker, 4 * 2 * (3 + 20)) << "blocks x slots of an arm x requests";
  for (record::Block& block : run.passes[2].blocks) {
    for (record::Slot& slot : block.slots) {
      for (record::Sample& sample : slot.samples) {
        sample.duration_ns *= 100;
      }
      slot.samples.insert(slot.samples.end(), slot.samples.begin(), slot.samples.end());
    }
  }
  run.passes[2].blocks.pop_back();  // incomplete: in no statistic
  record::RunRecord without = run;
  without.passes.erase(without.passes.begin() + 2);
  EXPECT_EQ(request_of(run).median_ns, request_of(without).median_ns);
  EXPECT_EQ(request_of(run).of_a_worker, whole.of_a_worker);
}

TEST(Series, the_effect_asked_for_has_all_the_runs_and_must_be_found) {
  SeriesOptions with;
  with.runs = 9;
  with.effect = 0.005;
  const auto all = all_series(with, {2e6, 100});
  EXPECT_EQ(all[1].name, "spin-0_5-percent");
  EXPECT_EQ(all[1].runs, 9);
  EXPECT_EQ(all[1].share_found, 0.9);
  EXPECT_EQ(all[2].name, "spin-2-percent");
  EXPECT_EQ(all[2].runs, 3);
  EXPECT_EQ(all[2].share_found, 0);
  ASSERT_EQ(all.size(), 9U);
  with.effect = 0.03;
  EXPECT_THROW((void)all_series(with, {2e6, 100}), base::Error);
}

TEST(Series, spins_of_a_device_experiment_run_on_the_device) {
  SeriesOptions with;
  with.on_device = true;
  EXPECT_EQ(all_series(with, {2e6, 100})[1].inject_b.dump(),
            R"({"kind":"spin","fraction":0.02,"where":"device"})");
}

Result result() {
  Result found;
  found.harm_limit = 0.05;
  found.checks = {{"intervals", "missed", 9, 200, 4, 16},
                  {"verdicts-equivalent", "said", 0, 59, 0, 0},
                  {"verdicts-faster", "said", 2, 59, 0, 7}};
  SeriesResult spin;
  spin.name = "spin-2-percent";
  spin.effect = 0.02;
  spin.runs = spin.wanted = 20;
  spin.found = 19;
  found.series = {spin};
  return found;
}

TEST(Record, says_counts_and_digests_and_is_cited_by_its_sentence) {
  CalibrationRecord record;
  record.utc = "2026-11-30T10:00:00Z";
  record.machine_class = "amd-epyc-family-26-model-2-2-cpus";
  record.result = result();
  record.runs = {{"equal", "equal/001.sqlite", std::string(64, 'a')}};
  const Json json = to_json(record);
  EXPECT_TRUE(json.get_bool("holds", ""));
  EXPECT_EQ(json.get_array("runs", "")[0].get_string("head", ""), std::string(64, 'a'));
  const Citation cited = citation(json, "record.json");
  EXPECT_EQ(cited.utc, record.utc);
  EXPECT_EQ(cited.sentence,
            "95 % intervals missed zero in 9 of 200 relabelled A/A runs, false verdicts 0 of 59 "
            "(claim equivalent) and 2 of 59 (claim faster), an injected 2 % found in 19 of 20");
  record.result.checks[1].count = 1;
  EXPECT_FALSE(citation(to_json(record), "record.json").holds);
}

TEST(Record, another_file_is_refused_with_its_name) {
  try {
    (void)citation(base::parse_json(R"({"schema":"abba.lock/1"})", ""), "x.json");
    FAIL() << "a lock was taken for a record";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
    EXPECT_NE(std::string(error.what()).find("x.json"), std::string::npos);
  }
}

TEST(Table, marks_what_does_not_hold) {
  Result found = result();
  EXPECT_EQ(table(found).find("FAIL"), std::string::npos);
  found.checks[0].count = 17;
  EXPECT_NE(table(found).find("FAIL  17 of 200"), std::string::npos);
}

}  // namespace
}  // namespace abba::calibration
