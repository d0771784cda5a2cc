#include "engine/ops/variant.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/base/error.h"

namespace abba::ops {
namespace {

TEST(Variants, EveryFactorHasTheDeclaredLevelsInTheOrderOfItsEnum) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> expected = {
      {"rope", {"row_block_32", "row_block_32_div64", "r1_h4", "r2_h4", "r1_h8"}},
      {"head_last_layer", {"all_tokens", "marker_rows"}},
      {"attention_output", {"head_major", "row_major"}},
      {"bias", {"strided_div64", "rows_2d", "epilogue"}},
      {"upload", {"separate_sync", "grouped"}},
      {"handles", {"per_launch", "resolved"}},
      {"gemm", {"heuristic", "pinned"}},
      {"dispatch", {"eager"}}};
  ASSERT_EQ(variant_tables().size(), expected.size());
  for (const auto& [factor, levels] : expected) {
    const VariantTable& table = variant_table(factor);
    ASSERT_EQ(table.variants.size(), levels.size()) << factor;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      EXPECT_EQ(table.variants[i].name, levels[i]) << factor;
      Choices choices;
      set_choice(choices, factor, levels[i]);
      EXPECT_EQ(level_of(choices, factor), levels[i]);
    }
  }
  Choices choices;
  set_choice(choices, "rope", "r2_h4");
  set_choice(choices, "head_last_layer", "all_tokens");
  set_choice(choices, "attention_output", "head_major");
  set_choice(choices, "bias", "strided_div64");
  EXPECT_EQ(choices, (Choices{RopeVariant::kR2H4, HeadLastLayer::kAllTokens,
                              AttentionOutput::kHeadMajor, BiasVariant::kStridedDiv64}));
  set_choice(choices, "upload", "separate_sync");
  set_choice(choices, "handles", "per_launch");
  set_choice(choices, "gemm", "pinned");
  EXPECT_EQ(choices, (Choices{RopeVariant::kR2H4, HeadLastLayer::kAllTokens,
                              AttentionOutput::kHeadMajor, BiasVariant::kStridedDiv64,
                              Upload::kSeparateSync, Handles::kPerLaunch, Gemm::kPinned}));
}

// How a device is fed is no question on the CPU; the four others are the same factors everywhere.
TEST(Variants, EachBackendHasItsOwnFactors) {
  EXPECT_EQ(variant_tables("cuda").size(), variant_tables().size());
  EXPECT_EQ(variant_tables("cpu").size(), 4U);
  for (const VariantTable& table : variant_tables("cpu")) {
    EXPECT_TRUE(table.backend.empty()) << table.factor;
  }
  for (const VariantTable& table : variant_tables().subspan(4)) {
    EXPECT_EQ(table.backend, "cuda") << table.factor;
  }
}

TEST(Variants, EachRowNamesALevelOfItsTableAndSaysWhatItIs) {
  for (const VariantTable& table : variant_tables()) {
    std::set<std::string_view> names;
    for (const Variant& v : table.variants) names.insert(v.name);
    EXPECT_EQ(names.size(), table.variants.size()) << table.factor;
    for (const Variant& v : table.variants) {
      EXPECT_TRUE(names.contains(v.exactness.to)) << v.name;
      EXPECT_FALSE(v.description.empty()) << v.name;
      const bool has_limits = v.exactness.nrms > 0 && v.exactness.max_abs > 0;
      EXPECT_EQ(has_limits, v.exactness.kind == ExactnessKind::kTolerance) << v.name;
    }
    const Variant& fallback = table.variants[static_cast<std::size_t>(table.fallback)];
    const std::int64_t huge = std::int64_t{1} << 60U;
    EXPECT_TRUE(fallback.refusal({huge, huge, huge, huge}).empty()) << table.factor;
  }
}

TEST(Variants, UnknownNamesAreRefusedWithWhatThereIs) {
  Choices choices;
  try {
    set_choice(choices, "rope", "r3_h4");
    FAIL();
  } catch (const base::Error& e) {
    EXPECT_NE(std::string(e.what()).find("row_block_32_div64"), std::string::npos) << e.what();
  }
  try {
    set_choice(choices, "ropes", "r1_h4");
    FAIL();
  } catch (const base::Error& e) {
    EXPECT_NE(std::string(e.what()).find("head_last_layer"), std::string::npos) << e.what();
  }
  EXPECT_EQ(choices, Choices{});
  EXPECT_EQ(precision_by_name("bf16"), Precision::kBf16);
  EXPECT_THROW(static_cast<void>(precision_by_name("fp16")), base::Error);
}

// 2^32 - 1 elements of q, k, v is the last size 32-bit positions reach.
TEST(Variants, BeyondThirtyTwoBitElementsTheWideLevelRunsAndSaysSo) {
  Choices wanted;
  wanted.rope = RopeVariant::kR1H8;
  wanted.bias = BiasVariant::kRows2d;
  const std::int64_t tokens = 0xffffffffLL / (3 * kHeadDim);  // one head
  std::string note;
  EXPECT_EQ(effective_choices(wanted, {1, 512, 16, 4}, &note), wanted);
  EXPECT_TRUE(note.empty());
  const Choices at_limit = effective_choices(wanted, {tokens, 1, 1, 4}, &note);
  EXPECT_EQ(at_limit.rope, RopeVariant::kR1H8);
  note.clear();
  const Choices beyond = effective_choices(wanted, {tokens + 1, 1, 1, 4}, &note);
  EXPECT_EQ(beyond.rope, RopeVariant::kRowBlock32Div64);
  EXPECT_EQ(beyond.bias, BiasVariant::kStridedDiv64);
  EXPECT_NE(note.find("r1_h8 fell back to row_block_32_div64"), std::string::npos) << note;
  EXPECT_NE(note.find("rows_2d fell back to strided_div64"), std::string::npos) << note;
  // The guard itself must not overflow.
  const std::int64_t huge = std::int64_t{1} << 62U;
  EXPECT_EQ(effective_choices(wanted, {huge, huge, huge, 1}, nullptr).rope,
            RopeVariant::kRowBlock32Div64);
  EXPECT_EQ(effective_choices(wanted, {0, 5, 1, 1}, nullptr), wanted);
}

}  // namespace
}  // namespace abba::ops
