// The file that states another machine: read whole, or refused with what is wrong in it.
#include "harness/manifest/reference_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/base/error.h"
#include "tests/unit/manifest/example.h"

namespace abba::manifest::testing {
namespace {

using ::testing::HasSubstr;

std::vector<record::Identity> read(const std::string& text) {
  Project project;
  project.root = ::testing::TempDir();
  std::ofstream(project.root / "reference.json") << text;
  record::Manifest manifest;
  manifest.reference_environment = "reference.json";
  return reference_environment(manifest, project);
}

std::string refusal(const std::string& text) {
  try {
    (void)read(text);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
    return error.what();
  }
  return "";
}

constexpr const char* kHead =
    R"({"schema": "abba.reference_environment/1", "title": "t", "facts": )";

TEST(ReferenceEnvironment, BecomesRowsOfIdentity) {
  const auto rows = read(std::string(kHead) +
                         R"([{"what": "SMs", "stated": "132", "here": ["driver/0", "sm"]},
                             {"what": "weather", "stated": "fine"}]})");
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].source, record::kReferenceTitle);
  EXPECT_EQ(rows[1].source, record::kReferenceStated);
  EXPECT_EQ(rows[1].value, "132");
  EXPECT_EQ(rows[2].value, "driver/0|sm");
  EXPECT_EQ(rows[3].key, "weather");
}

TEST(ReferenceEnvironment, NoneIsNone) {
  EXPECT_TRUE(reference_environment(record::Manifest(), Project()).empty());
}

TEST(ReferenceEnvironment, SaysWhatIsWrong) {
  EXPECT_THAT(refusal("{}"), HasSubstr("\"schema\" must be"));
  EXPECT_THAT(refusal(std::string(kHead) + "7}"), HasSubstr("\"facts\" as an array"));
  EXPECT_THAT(refusal(std::string(kHead) + R"([{"what": "x"}]})"), HasSubstr("\"stated\""));
  EXPECT_THAT(refusal(std::string(kHead) + R"([{"what": "x", "stated": "y", "here": ["z"]}]})"),
              HasSubstr("[\"SOURCE\", \"KEY\"]"));
  EXPECT_THAT(refusal("not JSON"), HasSubstr("reference.json"));
}

TEST(ReferenceEnvironment, TheCommittedOneIsRead) {
  Project project;
  project.root = ABBA_SOURCE_DIR;
  record::Manifest manifest;
  manifest.reference_environment = "experiments/seed_baseline.json";
  EXPECT_GE(reference_environment(manifest, project).size(), 16U);
}

}  // namespace
}  // namespace abba::manifest::testing
