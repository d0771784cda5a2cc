// Settings and factor levels: what is accepted arrives, what is not is named with what would be.
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "experiments/laya/engine_settings.h"

namespace abba::laya {
namespace {

std::string refusal(const std::string& text) {
  try {
    read_settings(base::parse_json(text, "test"), {});
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

TEST(EngineSettings, DefaultsAndWrittenOutFormAreTheSame) {
  const EngineSettings defaults = read_settings(base::Json(), {});
  const EngineSettings again = read_settings(settings_json(defaults), {});
  EXPECT_EQ(settings_json(again).canonical(), settings_json(defaults).canonical());
  EXPECT_EQ(again.cpu.precision, ops::Precision::kBf16);
  EXPECT_EQ(again.cpu.threads, 1);
}

TEST(EngineSettings, EveryKeyIsRead) {
  const cpu::Settings settings =
      read_settings(
          base::parse_json(
              R"({"backend": "cpu", "precision": "fp32", "threads": 2, "product": "widened", "isa": "avx2"})",
              "test"),
          {})
          .cpu;
  EXPECT_EQ(settings.precision, ops::Precision::kFp32);
  EXPECT_EQ(settings.threads, 2);
  EXPECT_EQ(settings.product, cpu::ProductPath::kWidened);
  EXPECT_EQ(settings.isa, cpu::Isa::kAvx2);
}

TEST(EngineSettings, BadSettingsSayWhatWouldBeAccepted) {
  EXPECT_NE(refusal(R"({"precision": "fp8"})").find("accepted is bf16, fp32"), std::string::npos);
  EXPECT_NE(refusal(R"({"precision": 16})").find("accepted is bf16, fp32"), std::string::npos);
  EXPECT_NE(refusal(R"({"threads": 0})").find("1 to 256"), std::string::npos);
  EXPECT_NE(refusal(R"({"threads": 1.5})").find("1 to 256"), std::string::npos);
  EXPECT_NE(refusal(R"({"backend": "tpu"})").find("accepted is cpu, cuda"), std::string::npos);
  EXPECT_NE(refusal(R"({"device": 0})").find("unknown key \"device\""), std::string::npos);
  EXPECT_NE(refusal(R"({"backend": "cuda", "threads": 1})").find("precision and device"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"backend": "cuda", "device": -1})").find("0 to 255"), std::string::npos);
  EXPECT_NE(refusal(R"({"treads": 1})").find("unknown key \"treads\""), std::string::npos);
}

TEST(EngineSettings, EveryLevelOfEveryFactorCanBeChosenAndReadBack) {
  for (const ops::VariantTable& table : ops::variant_tables()) {
    for (const ops::Variant& variant : table.variants) {
      const ops::Choices choices =
          read_choices({{std::string(table.factor), std::string(variant.name)}});
      EXPECT_EQ(choices_map(choices, "cuda").at(std::string(table.factor)), variant.name);
    }
  }
  EXPECT_THROW(read_choices({{"rope", "r9_h9"}}), base::Error);
  EXPECT_THROW(read_choices({{"ropes", "r1_h8"}}), base::Error);
}

// A factor of another backend would be accepted, ignored and published: refused instead.
TEST(EngineSettings, AFactorOfAnotherBackendIsRefused) {
  check_factors({"rope", "upload"}, "cuda");
  check_factors({"rope"}, "cpu");
  try {
    check_factors({"rope", "upload"}, "cpu");
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_NE(std::string(error.what()).find("backend \"cuda\" has and \"cpu\" has not"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(choices_map({}, "cpu").count("upload"), 0U);
  EXPECT_EQ(choices_map({}, "cuda").count("upload"), 1U);
}

TEST(EngineSettings, CudaSettingsAreWrittenOutWithTheirOwnKeys) {
  const EngineSettings settings = read_settings(
      base::parse_json(R"({"device": 1, "backend": "cuda", "precision": "fp32"})", "test"), {});
  EXPECT_EQ(settings_json(settings).canonical(),
            R"({"backend":"cuda","device":1,"precision":"fp32"})");
}

}  // namespace
}  // namespace abba::laya
