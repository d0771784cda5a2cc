// What must not change a bit of a network's results: repetition, order, a used or poisoned
// workspace, padding, a row's position, levels that declare bits. What may is recorded.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>

#include "engine/model/reference_forward.h"
#include "tests/device/subject.h"

namespace abba::device {
namespace {

using model::testing::run;

class Bits : public NetworkTest {
 protected:
  // The thirteen; on the host, which only rehearses, the short ones.
  [[nodiscard]] std::vector<NamedBatch> inputs() const {
    return GetParam().way.kind == Kind::kCuda ? fixtures(GetParam().config)
                                              : checked_fixtures(GetParam());
  }
  static const char* backend_name() { return GetParam().way.kind == Kind::kCuda ? "cuda" : "cpu"; }
  static std::vector<Outcome> outcomes(Instance& instance, const std::vector<NamedBatch>& inputs) {
    std::vector<Outcome> all;
    for (const NamedBatch& input : inputs) all.push_back(run(*instance.network, input.batch));
    return all;
  }
  static bool is_finite(const Outcome& outcome) {
    const auto finite = [](const std::vector<float>& values) {
      return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
    };
    return finite(outcome.logits) && finite(outcome.actions) && finite(outcome.hidden);
  }
};

TEST_P(Bits, fixtures_forward_and_reversed_on_the_reused_workspace) {
  Instance instance = make_instance(GetParam());
  const std::vector<NamedBatch> in = inputs();
  const std::vector<Outcome> forward = outcomes(instance, in);
  std::size_t equal = 0;
  for (std::size_t i = in.size(); i-- > 0;) {
    const Outcome again = run(*instance.network, in[i].batch);
    EXPECT_TRUE(is_finite(again)) << in[i].name;
    equal += same_bits(again, forward[i]) ? 1 : 0;
    EXPECT_TRUE(same_bits(again, forward[i])) << in[i].name << " reversed";
    EXPECT_TRUE(same_bits(run(*instance.network, in[i].batch), again)) << in[i].name << " again";
    if (i > 0) {
      EXPECT_FALSE(same_bits(forward[i], forward[i - 1])) << "canary: other inputs";
    }
  }
  EXPECT_EQ(equal, in.size());
}

TEST_P(Bits, a_poisoned_workspace_does_not_show) {
  Instance instance = make_instance(GetParam());
  for (const NamedBatch& input : inputs()) {
    const Outcome first = run(*instance.network, input.batch);
    model::LaunchPlan& plan = instance.network->prepare(input.batch.shape);
    const std::vector<std::byte> poison(plan.arena->size_bytes() / 4 * 4, std::byte{0xFF});
    const auto floats = static_cast<std::int64_t>(poison.size() / 4);
    instance.backend->upload(poison.data(), {plan.arena->data(), DType::kF32, Shape{floats}});
    instance.backend->synchronize();
    EXPECT_TRUE(same_bits(run(*instance.network, input.batch), first)) << input.name;
  }
}

// Every level that declares bits, end to end, over all fixtures in both orders (26 of 26).
TEST_P(Bits, levels_that_declare_bits_keep_them) {
  const std::vector<NamedBatch> in = inputs();
  Instance first;
  ops::Choices of_first;
  for (const ops::VariantTable& table : ops::variant_tables(backend_name())) {
    for (const ops::Variant& variant : table.variants) {
      const bool is_own = variant.exactness.to == variant.name;
      if (variant.exactness.kind != ops::ExactnessKind::kBitwise || is_own) continue;
      ops::Choices candidate;
      ops::Choices baseline;
      ops::set_choice(candidate, table.factor, variant.name);
      ops::set_choice(baseline, table.factor, variant.exactness.to);
      if (!first.network || !(of_first == baseline)) first = make_instance(GetParam(), baseline);
      of_first = baseline;
      Instance second = make_instance(GetParam(), candidate);
      for (std::size_t i = 0; i < 2 * in.size(); ++i) {
        const NamedBatch& input = in[i < in.size() ? i : 2 * in.size() - 1 - i];
        for (const auto& [instance, wanted] :
             {std::pair{&first, &baseline}, std::pair{&second, &candidate}}) {
          const model::LaunchPlan& plan = instance->network->prepare(input.batch.shape);
          ASSERT_EQ(plan.choices, *wanted) << "what ran is not what was asked: " << plan.note;
        }
        expect_same_bits(first, second, input);
      }
    }
  }
}

// Levels that declare a tolerance keep it in what the heads read.
TEST_P(Bits, levels_that_declare_a_tolerance_keep_it) {
  const std::vector<NamedBatch> in = inputs();
  for (const ops::VariantTable& table : ops::variant_tables(backend_name())) {
    for (const ops::Variant& variant : table.variants) {
      if (variant.exactness.kind != ops::ExactnessKind::kTolerance) continue;
      ops::Choices candidate;
      ops::Choices baseline;
      ops::set_choice(candidate, table.factor, variant.name);
      ops::set_choice(baseline, table.factor, variant.exactness.to);
      Instance first = make_instance(GetParam(), baseline);
      Instance second = make_instance(GetParam(), candidate);
      double worst = 0.0;
      for (const NamedBatch& input : in) {
        const Outcome a = run(*first.network, input.batch);
        const Outcome b = run(*second.network, input.batch);
        double error = 0.0;
        double power = 0.0;
        for (std::size_t i = 0; i < a.hidden.size(); ++i) {
          const double difference = static_cast<double>(b.hidden[i]) - a.hidden[i];
          error += difference * difference;
          power += static_cast<double>(a.hidden[i]) * a.hidden[i];
        }
        const double nrms = std::sqrt(error / power);
        EXPECT_LE(nrms, variant.exactness.nrms) << variant.name << " on " << input.name;
        worst = std::isnan(nrms) ? INFINITY : std::max(worst, nrms);
      }
      std::cout << "tolerance: " << GetParam().config << " " << name_of(GetParam().way) << " "
                << table.factor << " " << variant.name << " nRMS " << worst << "\n";
    }
  }
}

TEST_P(Bits, what_lies_in_the_padding_does_not_show) {
  Instance instance = make_instance(GetParam());
  base::Random random(99);
  for (const NamedBatch& input : inputs()) {
    model::Batch other = input.batch;
    std::int64_t changed = 0;
    for (std::int64_t b = 0; b < other.shape.rows; ++b) {
      for (std::int64_t i = other.lengths[static_cast<std::size_t>(b)]; i < other.shape.tokens;
           ++i) {
        other.ids[static_cast<std::size_t>(b * other.shape.tokens + i)] = static_cast<std::int32_t>(
            random.below(static_cast<std::uint64_t>(config().vocab_size)));
        ++changed;
      }
    }
    const Outcome expected = run(*instance.network, input.batch);
    if (changed > 0) {
      EXPECT_TRUE(same_bits(run(*instance.network, other), expected)) << input.name;
    }
    other.ids[2] = other.ids[2] == 5000 ? 5001 : 5000;
    EXPECT_FALSE(same_bits(run(*instance.network, other), expected)) << "canary: a real token";
  }
}

// A row of `length` drawn tokens with two markers.
model::Row drawn_row(base::Random& random, std::int64_t length) {
  model::Row row;
  for (std::int64_t i = 0; i < length; ++i) {
    row.ids.push_back(1000 + static_cast<std::int32_t>(random.below(40000)));
  }
  row.type = 2;
  row.markers = {1, static_cast<std::int32_t>(length - 1)};
  return row;
}

// The outcome of one row of a batch; row 0 and the two markers of hidden.
Outcome row_of(const Outcome& all, std::int64_t row, std::int64_t rows) {
  const auto part = [&](const std::vector<float>& values) {
    const auto size = static_cast<std::int64_t>(values.size()) / rows;
    return std::vector<float>(values.begin() + row * size, values.begin() + (row + 1) * size);
  };
  return {part(all.logits), part(all.actions), part(all.hidden)};
}

// At every position of one batch size the bits are the same; against the row alone they may differ
// where the product picks another algorithm for more rows, which is recorded.
TEST_P(Bits, a_row_alone_against_every_position_of_batches_of_2_to_16) {
  Instance instance = make_instance(GetParam());
  base::Random random(7);
  const std::int64_t length = 40;
  const model::Row row = drawn_row(random, length);
  const std::int64_t pad = config().pad_token_id;
  const Outcome alone = run(*instance.network, model::make_batch({&row, 1}, pad));
  std::string changed;
  const std::int64_t most = GetParam().way.kind == Kind::kCuda ? 16 : 4;
  for (std::int64_t rows = 2; rows <= most; ++rows) {
    std::vector<model::Row> others;
    for (std::int64_t i = 0; i < rows; ++i) others.push_back(drawn_row(random, length - i % 3));
    Outcome first;
    for (std::int64_t position = 0; position < rows; ++position) {
      std::vector<model::Row> batch = others;
      batch[static_cast<std::size_t>(position)] = row;
      const model::Batch padded = model::make_batch(batch, pad, {rows, length, 2});
      const Outcome got = row_of(run(*instance.network, padded), position, rows);
      if (position == 0) {
        first = got;
      } else if (promises_one_row_order(*instance.backend)) {
        ASSERT_TRUE(same_bits(got, first)) << "position " << position << " of " << rows;
      }
      for (std::size_t i = 0; i < alone.logits.size(); ++i) {
        EXPECT_NEAR(got.logits[i], alone.logits[i], is_bf16() ? 0.25 : 1e-3);
      }
    }
    if (!same_bits(first, alone)) changed += (changed.empty() ? "" : " ") + std::to_string(rows);
  }
  std::cout << "record: " << GetParam().config << " " << name_of(GetParam().way) << " ("
            << instance.backend->product_path() << "): batch sizes that change a row of " << length
            << " tokens: " << (changed.empty() ? "none" : changed) << "\n";
  RecordProperty("batch_sizes_that_change_a_row", changed);
}

TEST_P(Bits, a_row_of_three_tokens_beside_long_ones) {
  Instance instance = make_instance(GetParam());
  base::Random random(8);
  const model::Row row = drawn_row(random, 3);
  const std::int64_t pad = config().pad_token_id;
  const std::vector<float> alone = run(*instance.network, model::make_batch({&row, 1}, pad)).logits;
  for (const std::int64_t length : {256, 257, 512}) {
    if (GetParam().way.kind == Kind::kCpu && length != 257) continue;
    for (const bool is_first : {false, true}) {
      std::vector<model::Row> rows = {drawn_row(random, length), drawn_row(random, length)};
      rows.insert(is_first ? rows.begin() : rows.begin() + 1, row);
      const Outcome all = run(*instance.network, model::make_batch(rows, pad));
      EXPECT_TRUE(is_finite(all));
      const std::vector<float> got = row_of(all, is_first ? 0 : 1, 3).logits;
      for (std::size_t i = 0; i < alone.size(); ++i) {
        EXPECT_NEAR(got[i], alone[i], is_bf16() ? 0.25 : 1e-3) << "beside " << length;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(device, Bits, testing::ValuesIn(subjects()), subject_name);

}  // namespace
}  // namespace abba::device
