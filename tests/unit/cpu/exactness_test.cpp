#include "engine/cpu/exactness.h"

#include "tests/unit/cpu/test_data.h"
#include "tests/unit/model/sabotaged_backend.h"

namespace abba::cpu {
namespace {

Settings settings_of(const Way& way) {
  Settings settings;
  settings.precision = way.precision;
  settings.isa = way.isa;
  settings.product = way.product;
  settings.threads = way.threads;
  return settings;
}

class Exactness : public testing::TestWithParam<Way> {};

TEST_P(Exactness, every_level_that_declares_bits_is_proved_bitwise) {
  Settings settings = settings_of(GetParam());
  for (const ops::VariantTable& table : ops::variant_tables("cpu")) {
    for (const ops::Variant& variant : table.variants) {
      ops::set_choice(settings.choices, table.factor, variant.name);
      const auto proved = prove_exactness(settings, 128);
      ASSERT_EQ(proved.size(), ops::variant_tables("cpu").size());
      for (const ProvedLevel& level : proved) {
        const bool is_left_to_the_library =
            level.level == "marker_rows" && settings.product == ProductPath::kAvx512Bf16;
        if (is_left_to_the_library) continue;
        EXPECT_EQ(level.proved, ops::ExactnessKind::kBitwise)
            << level.factor << " " << level.level << ": " << level.detail;
        EXPECT_EQ(level.level, ops::level_of(settings.choices, level.factor));
      }
    }
  }
}

// The library's bf16 product makes no such promise (with AMX it breaks it at some shapes): there
// the class of marker_rows is whatever the proof finds.
class ExactnessOfRows : public Exactness {};

TEST_P(ExactnessOfRows, rows_of_the_decision_layers_products_keep_their_bits) {
  const auto backend = make_backend(settings_of(GetParam()));
  EXPECT_EQ(count_row_differences(*backend, 130, 1024, 512), 0);
  EXPECT_EQ(count_row_differences(*backend, 64, 4096, 187), 0);
}

TEST_P(ExactnessOfRows, q_and_kv_from_two_products_have_the_bits_of_one) {
  const auto backend = make_backend(settings_of(GetParam()));
  for (const std::int64_t hidden : {64, 192, 1024}) {  // 192: no whole panels of columns
    EXPECT_EQ(count_split_differences(*backend, hidden, 74), 0) << hidden;
  }
}

// Passes everything on, but adds one unit to the first value of a product of `columns` columns.
class Tilted : public model::testing::SabotagedBackend {
 public:
  Tilted(ops::Backend& real, std::int64_t columns)
      : SabotagedBackend(real, model::testing::Sabotage::kNone, 0), columns_(columns) {}
  void matmul(ops::MatmulId id, tensor::ConstView x, tensor::View y) override {
    SabotagedBackend::matmul(id, x, y);
    if (y.columns() == columns_) static_cast<unsigned char*>(y.data())[0] ^= 1U;
  }

 private:
  std::int64_t columns_;
};

TEST_P(ExactnessOfRows, canary_one_wrong_bit_in_either_product_is_counted) {
  const auto backend = make_backend(settings_of(GetParam()));
  Tilted kv(*backend, 2 * 128);
  EXPECT_EQ(count_split_differences(kv, 128, 74), 1);
  Tilted q(*backend, 128);
  EXPECT_EQ(count_split_differences(q, 128, 74), 7);
}

INSTANTIATE_TEST_SUITE_P(cpu, Exactness, testing::ValuesIn(ways()), way_name);
INSTANTIATE_TEST_SUITE_P(cpu, ExactnessOfRows, testing::ValuesIn(ways_with_one_row_order()),
                         way_name);

}  // namespace
}  // namespace abba::cpu
