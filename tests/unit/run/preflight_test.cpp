#include "harness/run/preflight.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/run/notes.h"
#include "tests/unit/run/fakes.h"

namespace abba::run {
namespace {

Preflight check(const record::Manifest& manifest, host::FakeDeviceProbe probe = {{}, {}},
                bool require_device = false) {
  const record::Registration none;
  const record::Plan plan = plan::make_plan(manifest);
  manifest::Project project;
  project.root = testing::TempDir();
  host::FakeClock clock;
  PreflightInputs in{manifest, none, plan, project, testing::TempDir(), "", {0, 1}, true};
  in.require_device = require_device;
  in.device_locks = testing::TempDir();
  in.clock = &clock;
  return preflight(in, probe);
}

const PreflightRow& row(const Preflight& found, const std::string& name) {
  const auto at = std::find_if(found.rows.begin(), found.rows.end(),
                               [&](const auto& candidate) { return candidate.name == name; });
  EXPECT_NE(at, found.rows.end()) << name;
  return *at;
}

TEST(Preflight, passes_a_sound_manifest_and_splits_the_cpus) {
  const auto found = check(small_manifest());
  for (const auto& each : found.rows) {
    EXPECT_TRUE(each.passed) << each.name << ": " << each.text;
  }
  EXPECT_EQ(found.cpus.worker, std::vector<int>{1});
  EXPECT_EQ(found.cpus.harness, std::vector<int>{0});
}

TEST(Preflight, refuses_a_cpu_that_is_not_there) {
  auto manifest = small_manifest();
  manifest.affinity.cpus = {77};
  const auto found = check(manifest);
  EXPECT_FALSE(row(found, "cpus").passed);
  EXPECT_FALSE(found.passed());
  EXPECT_THROW(found.require(), base::Error);
}

TEST(Preflight, refuses_plans_beyond_their_limits_and_offers_cheaper_ones) {
  auto manifest = small_manifest();
  manifest.protocol.passes = 12;
  manifest.protocol.limits.max_wall_s = 0.01;
  const auto found = check(manifest);
  EXPECT_FALSE(row(found, "limits").passed);
  EXPECT_NE(row(found, "limits").text.find("quick"), std::string::npos);
}

TEST(Preflight, refuses_what_this_version_cannot_carry_out) {
  auto manifest = small_manifest();
  manifest.outputs.reference.file = "reference.bin";
  EXPECT_FALSE(row(check(manifest), "protocol").passed);
  for (const auto placement : {record::Placement::kOneAtATime, record::Placement::kSharedProcess}) {
    manifest = small_manifest();
    manifest.protocol.placement = placement;
    manifest.protocol.cache = record::kFlushCaches;
    EXPECT_TRUE(row(check(manifest), "protocol").passed);
  }
}

TEST(Preflight, compares_the_device_with_the_wish) {
  auto manifest = small_manifest();
  manifest.device.wanted = "any";
  EXPECT_FALSE(row(check(manifest), "device").passed);
  host::Device device;
  device.source = "driver";
  device.uuid = "GPU-1";
  device.compute_capability = "9.0";
  EXPECT_TRUE(row(check(manifest, {{device}, {}}), "device").passed);
  manifest.device.compute_capability = "8.0";
  EXPECT_FALSE(row(check(manifest, {{device}, {}}), "device").passed);
  manifest.device = {};
  manifest.device.wanted = "GPU-2";
  EXPECT_FALSE(row(check(manifest, {{device}, {}}), "device").passed);
}

TEST(Preflight, a_required_device_must_be_asked_for_and_be_there) {
  auto manifest = small_manifest();
  const auto none_asked = check(manifest, {{}, {}}, true);
  EXPECT_FALSE(row(none_asked, "device").passed);
  EXPECT_NE(row(none_asked, "device").text.find("--require cuda"), std::string::npos);
  manifest.device.wanted = "any";
  const auto absent = check(manifest, {{}, {"libcuda.so.1 cannot be opened"}}, true);
  EXPECT_FALSE(row(absent, "device").passed);
  EXPECT_EQ(row(absent, "device").code, base::ErrorCode::kPreflight);
  EXPECT_NE(row(absent, "device").text.find("libcuda.so.1"), std::string::npos);
}

TEST(Preflight, keeps_what_sources_say_differently_as_notes) {
  auto manifest = small_manifest();
  manifest.device.wanted = "any";
  host::Device driver{"driver", 0, "GPU-1", "NVIDIA H200", "9.0", 132};
  host::Device nvml{"nvml", 0, "GPU-1", "L20X", "8.9"};
  const auto found = check(manifest, {{driver, nvml}, {}});
  EXPECT_TRUE(row(found, "device").passed) << row(found, "device").text;
  EXPECT_EQ(std::count_if(found.notes.begin(), found.notes.end(),
                          [](const auto& note) { return note.code == kDeviceDisagrees; }),
            2);
}

TEST(Preflight, a_missing_file_is_said_with_its_name) {
  auto manifest = small_manifest();
  record::FileDecl file;
  file.name = "weights";
  file.path = "not-there.bin";
  manifest.files.push_back(file);
  const auto found = check(manifest);
  EXPECT_FALSE(row(found, "files").passed);
  EXPECT_NE(row(found, "files").text.find("not-there.bin"), std::string::npos);
}

}  // namespace
}  // namespace abba::run
