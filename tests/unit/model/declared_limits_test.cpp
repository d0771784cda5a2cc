// The limits that levels of class "tolerance" declare, held against whole networks: what the tables
// promise is what is read here, never a number of the test's own. On weights of the families'
// scale: `tiny`, as every synthetic checkpoint.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/model/reference_forward.h"
#include "tests/unit/model/cpu_network.h"
#include "tests/unit/model/sabotaged_backend.h"
#include "tests/unit/model/tiny_checkpoint.h"

namespace abba::model {
namespace {

using testing::cpu_backend;
using testing::Outcome;
using testing::run;
using testing::TinyCheckpoint;

constexpr double kShareLimit = 0.03;  // of a decision, as the numerics page has it

struct Apart {
  double nrms = 0.0;     // of the hidden states' difference, relative to them
  double max_abs = 0.0;  // of it
  double share = 0.0;    // by which an option's share of the softmax changes
};

Apart apart(const std::vector<float>& values, const std::vector<float>& expected) {
  Apart found;
  double squares = 0.0, expected_squares = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = static_cast<double>(values[i]) - static_cast<double>(expected[i]);
    squares += difference * difference;
    expected_squares += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
    found.max_abs = std::max(found.max_abs, std::abs(difference));
  }
  found.nrms = std::sqrt(squares / expected_squares);
  return std::isfinite(found.nrms) ? found : Apart{1e30, 1e30};  // max() drops a NaN
}

// The largest change of an option's share among its row's options.
double share_change(const Batch& batch, const Outcome& got, const Outcome& expected) {
  const auto shares = [&](const Outcome& outcome, std::int64_t row) {
    const auto first = outcome.logits.begin() + row * batch.shape.options;
    std::vector<double> p(first, first + batch.counts[static_cast<std::size_t>(row)]);
    double total = 0.0;
    for (double& value : p) total += value = std::exp(value);
    for (double& value : p) value /= total;
    return p;
  };
  double largest = 0.0;
  for (std::int64_t row = 0; row < batch.shape.rows; ++row) {
    const auto p = shares(got, row);
    const auto q = shares(expected, row);
    for (std::size_t i = 0; i < p.size(); ++i) largest = std::max(largest, std::abs(p[i] - q[i]));
  }
  return largest;
}

std::vector<Batch> batches(const checkpoint::ModelConfig& config) {
  std::vector<Batch> all;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    all.push_back(random_batch(config, {3, 23, 4}, 300 + seed));
    all.push_back(random_batch(config, {1, 48, 6}, 400 + seed));
  }
  all.push_back(random_batch(config, {2, 160, 9}, 500));
  return all;
}

Apart largest_apart(ops::Backend& one, ops::Backend& other) {
  const TinyCheckpoint& tiny = TinyCheckpoint::instance();
  Network got(tiny.config(), tiny.file(), one);
  Network expected(tiny.config(), tiny.file(), other);
  Apart largest;
  for (const Batch& batch : batches(tiny.config())) {
    const Outcome a = run(got, batch);
    const Outcome b = run(expected, batch);
    const Apart now = apart(a.hidden, b.hidden);
    largest = {std::max(largest.nrms, now.nrms), std::max(largest.max_abs, now.max_abs),
               std::max(largest.share, share_change(batch, a, b))};
  }
  return largest;
}

std::unique_ptr<ops::Backend> backend_with(ops::Precision precision, std::string_view factor,
                                           std::string_view level) {
  ops::Choices choices;
  ops::set_choice(choices, factor, level);
  return cpu_backend(precision, choices);
}

TEST(DeclaredLimits, EveryToleranceLevelStaysWithinItsOwn) {
  int levels = 0;
  for (const ops::VariantTable& table : ops::variant_tables("cpu")) {
    for (const ops::Variant& level : table.variants) {
      if (level.exactness.kind != ops::ExactnessKind::kTolerance) continue;
      ++levels;
      for (const auto precision : {ops::Precision::kFp32, ops::Precision::kBf16}) {
        const auto one = backend_with(precision, table.factor, level.name);
        const auto other = backend_with(precision, table.factor, level.exactness.to);
        const Apart largest = largest_apart(*one, *other);
        const std::string name =
            std::string(level.name) + " " + std::string(ops::name_of(precision));
        EXPECT_LE(largest.nrms, level.exactness.nrms) << name;
        EXPECT_LE(largest.max_abs, level.exactness.max_abs) << name;
        EXPECT_LE(largest.share, kShareLimit) << name;
        RecordProperty(name, std::to_string(largest.nrms) + " " + std::to_string(largest.max_abs) +
                                 " " + std::to_string(largest.share));
      }
    }
  }
  EXPECT_GE(levels, 2);
}

// Canary: attention left out of the first decision layer is outside of every declared limit.
TEST(DeclaredLimits, CanaryAttentionLeftOutIsBeyondEveryLimit) {
  const auto real = cpu_backend(ops::Precision::kBf16);
  const auto faithful = cpu_backend(ops::Precision::kBf16);
  const auto first_decision_layer =
      static_cast<int>(TinyCheckpoint::instance().config().layer_count);
  testing::SabotagedBackend broken(*real, testing::Sabotage::kAttentionOff, first_decision_layer);
  const Apart largest = largest_apart(broken, *faithful);
  for (const ops::VariantTable& table : ops::variant_tables("cpu")) {
    for (const ops::Variant& level : table.variants) {
      if (level.exactness.kind != ops::ExactnessKind::kTolerance) continue;
      EXPECT_GT(largest.nrms, level.exactness.nrms) << level.name;
      EXPECT_GT(largest.max_abs, level.exactness.max_abs) << level.name;
    }
  }
}

}  // namespace
}  // namespace abba::model
