// Inputs become batches of exactly the rows, lengths and markers their form promises.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "engine/base/error.h"
#include "engine/checkpoint/config.h"
#include "experiments/laya/workload_input.h"

namespace abba::laya {
namespace {

constexpr std::int64_t kPad = 50283;

WorkloadInput read(const std::string& text, std::uint64_t variant = 0) {
  return read_workload_input(base::parse_json(text, "test"), ABBA_FIXTURES_DIR, kPad, variant);
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
    return error.what();
  }
  return "";
}

struct Expected {
  std::vector<std::int32_t> lengths;
  std::int64_t padded;
};

// Rows and padded lengths of the seeds' thirteen fixtures.
const std::map<std::string, Expected>& expected_fixtures() {
  static const std::map<std::string, Expected> fixtures = {
      {"choice", {{40}, 48}},
      {"score", {{49}, 64}},
      {"short_1", {{48}, 48}},
      {"short_3", {{40, 48, 49}, 64}},
      {"medium_1", {{174}, 176}},
      {"medium_3", {{166, 174, 175}, 176}},
      {"long_1", {{454}, 464}},
      {"long_3", {{446, 454, 455}, 464}},
      {"negative_3", {{46, 54, 55}, 64}},
      {"conversation_3", {{69, 77, 78}, 80}},
      {"truncated_3", {{512, 512, 512}, 512}},
      {"single_option", {{35}, 48}},
      {"mixed_16",
       {{512, 40, 48, 49, 174, 454, 63, 65, 128, 129, 256, 257, 35, 511, 96, 320}, 512}},
  };
  return fixtures;
}

TEST(WorkloadInput, EveryFixtureHasItsPublishedLengthsAndIsAccepted) {
  const checkpoint::ModelConfig config = checkpoint::family_config("english");
  for (const auto& [name, expected] : expected_fixtures()) {
    const WorkloadInput input = read(R"({"fixture": ")" + name + R"("})");
    ASSERT_EQ(input.batches.size(), 1U) << name;
    EXPECT_EQ(input.batches[0].lengths, expected.lengths) << name;
    EXPECT_EQ(input.batches[0].shape.tokens, expected.padded) << name;
    EXPECT_EQ(input.token_count,
              std::accumulate(expected.lengths.begin(), expected.lengths.end(), std::int64_t{0}));
    EXPECT_NO_THROW(model::check_batch(input.batches[0], config)) << name;
  }
}

TEST(WorkloadInput, EveryMarkerStandsOnAMaskId) {
  for (const auto& [name, expected] : expected_fixtures()) {
    const model::Batch batch = read(R"({"fixture": ")" + name + R"("})").batches[0];
    for (std::int64_t b = 0; b < batch.shape.rows; ++b) {
      for (std::int32_t k = 0; k < batch.counts[static_cast<std::size_t>(b)]; ++k) {
        const auto at = static_cast<std::size_t>(
            b * batch.shape.tokens +
            batch.markers[static_cast<std::size_t>(b * batch.shape.options + k)]);
        EXPECT_EQ(batch.ids[at], 50284) << name << " row " << b << " option " << k;
      }
    }
  }
}

TEST(WorkloadInput, AVariantChangesWordsAndNothingElse) {
  const model::Batch written = read(R"({"fixture": "short_3"})").batches[0];
  const model::Batch varied = read(R"({"fixture": "short_3"})", 7).batches[0];
  EXPECT_EQ(varied.lengths, written.lengths);
  EXPECT_EQ(varied.markers, written.markers);
  EXPECT_NE(varied.ids, written.ids);
  EXPECT_EQ(varied.ids, read(R"({"fixture": "short_3"})", 7).batches[0].ids);
  for (std::size_t i = 0; i < written.ids.size(); ++i) {
    EXPECT_EQ(written.ids[i] >= 50281, varied.ids[i] >= 50281) << "special id moved at " << i;
  }
}

TEST(WorkloadInput, AShapeIsFullRows) {
  const WorkloadInput input = read(R"({"shape": [3, 64], "seed": 5})");
  ASSERT_EQ(input.batches.size(), 1U);
  EXPECT_EQ(input.batches[0].lengths, (std::vector<std::int32_t>{64, 64, 64}));
  EXPECT_NE(read(R"({"shape": [3, 64], "seed": 6})").batches[0].ids, input.batches[0].ids);
}

TEST(WorkloadInput, AHookIsTwelveRowsInEightAndFour) {
  const WorkloadInput input = read(
      R"({"hook": {"rows": 12, "tokens": 187, "batch": 8, "kind": "score", "seed": 1}, "checkpoint": "student"})");
  ASSERT_EQ(input.batches.size(), 2U);
  EXPECT_EQ(input.batches[0].shape.rows, 8);
  EXPECT_EQ(input.batches[1].shape.rows, 4);
  EXPECT_EQ(input.checkpoint, "student");
  for (const model::Batch& batch : input.batches) {
    for (const std::int32_t length : batch.lengths) {
      EXPECT_GE(length, 179);
      EXPECT_LE(length, 187);
    }
    for (const std::int32_t type : batch.types) {
      EXPECT_EQ(type, 1);
    }
  }
}

TEST(WorkloadInput, BadInputSaysWhatWouldBeAccepted) {
  EXPECT_NE(refusal("[]").find("must be an object"), std::string::npos);
  EXPECT_NE(refusal(R"({"fixtures": "short_1"})").find("unknown key \"fixtures\""),
            std::string::npos);
  EXPECT_NE(refusal("{}").find("needs one of fixture, shape and hook"), std::string::npos);
  EXPECT_NE(refusal(R"({"fixture": "../../etc/passwd"})").find("must be a name"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"fixture": "nowhere"})").find("nowhere.json: cannot be opened"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"shape": [0, 48]})").find("1 to 4096 rows"), std::string::npos);
  EXPECT_NE(refusal(R"({"shape": [1, 9000000000]})").find("24 to 8192 tokens"), std::string::npos);
  EXPECT_NE(refusal(R"({"hook": {"rows": 12, "tokens": 187, "batch": 8, "kind": "x", "seed": 1}})")
                .find("choice, score and noul"),
            std::string::npos);
}

}  // namespace
}  // namespace abba::laya
