// What a network on the CPU promises beyond accuracy: the same bits where that is declared, no
// dependence on padding or neighbours, nothing allocated in a request.
#include "tests/unit/model/cpu_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/error.h"
#include "engine/cpu/exactness.h"
#include "engine/model/reference_forward.h"
#include "engine/tensor/buffer.h"
#include "tests/unit/model/allocation_count.h"
#include "tests/unit/model/sabotaged_backend.h"
#include "tests/unit/model/small_checkpoint.h"

namespace abba::model {
namespace {

using testing::allocation_count;
using testing::cpu_backend;
using testing::Outcome;
using testing::run;
using testing::small_config;
using testing::SmallCheckpoint;

constexpr ops::Precision kBoth[] = {ops::Precision::kFp32, ops::Precision::kBf16};

const SmallCheckpoint& shared_checkpoint() {
  static const SmallCheckpoint checkpoint(small_config());
  return checkpoint;
}

Batch shared_batch() {
  return random_batch(small_config(), {3, 23, 4}, 8);
}

Outcome outcome_with(ops::Precision precision, const ops::Choices& choices, const Batch& batch) {
  const auto backend = cpu_backend(precision, choices);
  Network network(small_config(), shared_checkpoint().file(), *backend);
  return run(network, batch);
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = std::isnan(difference) ? 1e30 : std::max(largest, difference);
  }
  return largest;
}

TEST(CpuNetwork, LevelsDeclaredBitwiseGiveTheSameBits) {
  for (const ops::Precision precision : kBoth) {
    const ops::Choices base;
    const Outcome expected = outcome_with(precision, base, shared_batch());
    for (const char* factor : {"rope", "attention_output"}) {
      for (const ops::Variant& variant : ops::variant_table(factor).variants) {
        ops::Choices choices = base;
        ops::set_choice(choices, factor, variant.name);
        EXPECT_EQ(outcome_with(precision, choices, shared_batch()), expected)
            << factor << " " << variant.name;
      }
    }
    ops::Choices strided = base, rows = base;
    strided.bias = ops::BiasVariant::kStridedDiv64;
    rows.bias = ops::BiasVariant::kRows2d;
    const Outcome twice_rounded = outcome_with(precision, strided, shared_batch());
    EXPECT_EQ(outcome_with(precision, rows, shared_batch()), twice_rounded);
    const double apart = largest_difference(twice_rounded.hidden, expected.hidden);
    if (precision == ops::Precision::kFp32) {
      EXPECT_LT(apart, 1e-4);
    } else {
      EXPECT_GT(apart, 0.0) << "the epilogue rounds once: another class";
    }
  }
}

// Bitwise exactly where the product keeps one order of additions whatever the number of rows.
TEST(CpuNetwork, MarkerRowsEqualAllTokensInTheirClass) {
  for (const ops::Precision precision : kBoth) {
    ops::Choices all;
    all.head_last_layer = ops::HeadLastLayer::kAllTokens;
    const Outcome expected = outcome_with(precision, all, shared_batch());
    const Outcome got = outcome_with(precision, {}, shared_batch());
    const auto backend = cpu_backend(precision);
    const bool one_order = cpu::count_row_differences(*backend, 512, 128, 69) == 0 &&
                           cpu::count_row_differences(*backend, 128, 512, 69) == 0;
    // Slots without a marker hold row 0's state in both.
    if (one_order) {
      EXPECT_EQ(got, expected) << ops::name_of(precision);
    }
    const ops::Exactness declared =
        ops::variant_table("head_last_layer").variants[1].exactness;  // marker_rows
    EXPECT_LE(largest_difference(got.hidden, expected.hidden), declared.max_abs);
  }
}

TEST(CpuNetwork, WhatLiesInThePaddingDoesNotShow) {
  const Batch batch = shared_batch();
  Batch other = batch;
  base::Random random(99);
  std::int64_t changed = 0;
  for (std::int64_t b = 0; b < batch.shape.rows; ++b) {
    for (std::int64_t i = batch.lengths[static_cast<std::size_t>(b)]; i < batch.shape.tokens; ++i) {
      other.ids[static_cast<std::size_t>(b * batch.shape.tokens + i)] =
          static_cast<std::int32_t>(random.below(60));
      ++changed;
    }
  }
  ASSERT_GT(changed, 5);
  for (const ops::Precision precision : kBoth) {
    EXPECT_EQ(outcome_with(precision, {}, other), outcome_with(precision, {}, batch));
    Batch real = batch;  // canary: a real token does show
    real.ids[2] = (real.ids[2] + 1) % 60;
    EXPECT_NE(outcome_with(precision, {}, real).logits, outcome_with(precision, {}, batch).logits);
  }
}

TEST(CpuNetwork, ARowAloneEqualsTheRowInABatch) {
  const Batch batch = shared_batch();
  const auto [rows, tokens, options] = batch.shape;
  for (const ops::Precision precision : kBoth) {
    const auto backend = cpu_backend(precision);
    const bool one_order = cpu::count_row_differences(*backend, 384, 128, 69) == 0 &&
                           cpu::count_row_differences(*backend, 128, 512, 69) == 0;
    Network network(small_config(), shared_checkpoint().file(), *backend);
    const Outcome together = run(network, batch);
    for (std::int64_t b = 0; b < rows; ++b) {
      const auto ids = batch.ids.begin() + b * tokens;
      const auto markers = batch.markers.begin() + b * options;
      const auto row = static_cast<std::size_t>(b);
      const std::vector<Row> one = {{{ids, ids + batch.lengths[row]},
                                     batch.types[row],
                                     {markers, markers + batch.counts[row]}}};
      const Outcome alone = run(network, make_batch(one, 0));
      const std::vector<float> expected(together.logits.begin() + b * options,
                                        together.logits.begin() + b * options + batch.counts[row]);
      if (one_order) {
        EXPECT_EQ(alone.logits, expected) << ops::name_of(precision) << " row " << b;
      }
      EXPECT_LT(largest_difference(alone.logits, expected),
                precision == ops::Precision::kFp32 ? 1e-4 : 0.03);
    }
  }
}

TEST(CpuNetwork, RepeatsAreBitwiseOnAUsedAndPoisonedWorkspace) {
  for (const ops::Precision precision : kBoth) {
    const auto backend = cpu_backend(precision);
    Network network(small_config(), shared_checkpoint().file(), *backend);
    const Outcome first = run(network, shared_batch());
    EXPECT_NE(run(network, random_batch(small_config(), {3, 23, 4}, 9)), first);  // another input
    EXPECT_EQ(run(network, shared_batch()), first);
    LaunchPlan& plan = network.prepare(shared_batch().shape);
    std::memset(plan.arena->data(), 0xFF, plan.arena->size_bytes());
    EXPECT_EQ(run(network, shared_batch()), first);
    EXPECT_EQ(run(network, random_batch(small_config(), {1, 5, 2}, 1)),
              run(network, random_batch(small_config(), {1, 5, 2}, 1)));
    EXPECT_EQ(run(network, shared_batch()), first);  // after another shape
  }
}

TEST(CpuNetwork, ThreadsDoNotChangeABit) {
  for (const ops::Precision precision : kBoth) {
    const auto backend = cpu_backend(precision, {}, 2);
    Network network(small_config(), shared_checkpoint().file(), *backend);
    EXPECT_EQ(run(network, shared_batch()), outcome_with(precision, {}, shared_batch()));
  }
}

// Passes everything on and counts what is allocated inside the products.
class ProductAllocations : public testing::SabotagedBackend {
 public:
  explicit ProductAllocations(ops::Backend& real)
      : SabotagedBackend(real, testing::Sabotage::kNone, 0), real_(real) {}

  void matmul(ops::MatmulId id, tensor::ConstView x, tensor::View y) override {
    const std::int64_t before = allocation_count();
    real_.matmul(id, x, y);
    count += allocation_count() - before;
  }

  std::int64_t count = 0;

 private:
  ops::Backend& real_;
};

// oneDNN's bf16 product builds its list of arguments anew in every execute(); nothing else of a
// request may allocate, and no other product.
TEST(CpuNetwork, ARequestAllocatesNothing) {
  for (const ops::Precision precision : kBoth) {
    for (const auto bias : {ops::BiasVariant::kRows2d, ops::BiasVariant::kEpilogue}) {
      ops::Choices choices;
      choices.bias = bias;
      const auto real = cpu_backend(precision, choices, 2);
      ProductAllocations backend(*real);
      Network network(small_config(), shared_checkpoint().file(), backend);
      const Batch batch = shared_batch();
      LaunchPlan& plan = network.prepare(batch.shape);
      Decision decision = network.make_decision(plan);
      network.encode(plan, batch);
      network.decide(plan, decision);
      const std::int64_t before = allocation_count();
      backend.count = 0;
      network.encode(plan, batch);
      network.decide(plan, decision);
      const std::int64_t all = allocation_count() - before;
      EXPECT_EQ(all - backend.count, 0) << ops::name_of(precision);
      const bool is_the_librarys = real->product_path().ends_with("avx512_bf16");
      if (!is_the_librarys) {
        EXPECT_EQ(backend.count, 0) << real->product_path();
      }
      const std::int64_t canary = allocation_count();
      const Batch copy = batch;
      EXPECT_GT(allocation_count() - canary, 0);
      const std::int64_t aligned_canary = allocation_count();
      const tensor::Buffer buffer(tensor::DType::kF32, tensor::Shape{4});
      EXPECT_EQ(allocation_count() - aligned_canary, 1);
    }
  }
}

TEST(CpuNetwork, OneOptionOneTokenAndManyOptionsRun) {
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{1, 2, 1}, Shape{2, 90, 60}}) {
    const Batch batch = random_batch(small_config(), shape, 2);
    const auto expected = reference_forward(small_config(), shared_checkpoint().file(), batch);
    const Outcome got = outcome_with(ops::Precision::kFp32, {}, batch);
    for (std::size_t i = 0; i < got.logits.size(); ++i) {
      EXPECT_NEAR(got.logits[i], expected.logits[i], 1e-4);
    }
    for (std::size_t i = 0; i < got.actions.size(); ++i) {
      EXPECT_NEAR(got.actions[i], expected.actions[i], 1e-4);
    }
  }
}

TEST(CpuNetwork, ABadBatchIsRefusedBeforeAnythingRuns) {
  const auto backend = cpu_backend(ops::Precision::kBf16);
  Network network(small_config(), shared_checkpoint().file(), *backend);
  const Outcome first = run(network, shared_batch());
  LaunchPlan& plan = network.prepare(shared_batch().shape);
  Batch bad = shared_batch();
  bad.ids[0] = 60;
  EXPECT_THROW(network.encode(plan, bad), base::Error);
  EXPECT_EQ(run(network, shared_batch()), first);
  EXPECT_THROW(static_cast<void>(network.prepare({1, 9000, 1})), base::Error);
}

}  // namespace
}  // namespace abba::model
