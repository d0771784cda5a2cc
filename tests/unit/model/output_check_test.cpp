// The three output checks on the CPU backend and `tiny`: correct code passes, each sabotage is
// noticed.
#include "engine/model/output_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/model/reference_forward.h"
#include "tests/unit/model/cpu_network.h"
#include "tests/unit/model/sabotaged_backend.h"
#include "tests/unit/model/tiny_checkpoint.h"

namespace abba::model {
namespace {

using ops::reference::NetworkRecord;
using testing::cpu_backend;
using testing::Sabotage;
using testing::SabotagedBackend;
using testing::TinyCheckpoint;

// Rows of 160 and fewer tokens: longer than a window, with padding.
const Batch& tiny_batch() {
  static const Batch batch = random_batch(TinyCheckpoint::instance().config(), {3, 160, 5}, 21);
  return batch;
}

// The reference holds the weights as a bf16 engine does: what is judged is the arithmetic.
const NetworkRecord& bf16_reference() {
  static const NetworkRecord record =
      reference_forward(TinyCheckpoint::instance().config(), TinyCheckpoint::instance().file(),
                        tiny_batch(), {.round_weights = true});
  return record;
}

const NetworkRecord& exact_reference() {
  static const NetworkRecord record = reference_forward(
      TinyCheckpoint::instance().config(), TinyCheckpoint::instance().file(), tiny_batch());
  return record;
}

struct Checks {
  StageError forced;
  StageError free;
};

Checks checks_of(ops::Backend& backend, const NetworkRecord& forced, const NetworkRecord& free) {
  const TinyCheckpoint& tiny = TinyCheckpoint::instance();
  Network network(tiny.config(), tiny.file(), backend);
  LaunchPlan& plan = network.prepare(tiny_batch().shape);
  return {worst(teacher_forced_errors(network, plan, tiny_batch(), forced)),
          worst(free_running_errors(network, plan, tiny_batch(), free))};
}

ops::Choices choices_with(ops::HeadLastLayer head, ops::BiasVariant bias) {
  ops::Choices choices;
  choices.head_last_layer = head;
  choices.bias = bias;
  return choices;
}

TEST(OutputCheck, Fp32IsTight) {
  for (const auto head : {ops::HeadLastLayer::kAllTokens, ops::HeadLastLayer::kMarkerRows}) {
    const auto backend =
        cpu_backend(ops::Precision::kFp32, choices_with(head, ops::BiasVariant::kEpilogue));
    const Checks checks = checks_of(*backend, exact_reference(), exact_reference());
    EXPECT_LT(checks.forced.nrms, 2e-5) << checks.forced.stage;
    EXPECT_LT(checks.free.nrms, 2e-5) << checks.free.stage;
  }
}

TEST(OutputCheck, Bf16PassesChecksOneAndTwoForEveryBiasAndHead) {
  for (const auto head : {ops::HeadLastLayer::kAllTokens, ops::HeadLastLayer::kMarkerRows}) {
    for (const auto bias : {ops::BiasVariant::kRows2d, ops::BiasVariant::kEpilogue}) {
      const auto backend = cpu_backend(ops::Precision::kBf16, choices_with(head, bias));
      const Checks checks = checks_of(*backend, bf16_reference(), exact_reference());
      EXPECT_LE(checks.forced.nrms, kTeacherForcedLimit) << checks.forced.stage;
      EXPECT_LE(checks.free.nrms, kFreeRunningLimit) << checks.free.stage;
      RecordProperty("teacher_forced", std::to_string(checks.forced.nrms));
      RecordProperty("free_running", std::to_string(checks.free.nrms));
      EXPECT_GT(checks.forced.nrms, 1e-4);  // canary: bf16 is not fp32
    }
  }
}

TEST(OutputCheck, TheCheckpointHasOutliersThatACheckOnEveryChannelCannotSeePast) {
  const ops::reference::Values& last = exact_reference().encoder.back().output;
  double largest = 0.0;
  for (const double value : last) largest = std::max(largest, std::abs(value));
  EXPECT_GT(largest, 1e4);
  const auto real = cpu_backend(ops::Precision::kBf16);
  SabotagedBackend off(*real, Sabotage::kAttentionOff, 3);
  const TinyCheckpoint& tiny = TinyCheckpoint::instance();
  Network network(tiny.config(), tiny.file(), off);
  LaunchPlan& plan = network.prepare(tiny_batch().shape);
  int seen = 0;
  for (const StageError& error : parity_errors(network, plan, tiny_batch(), exact_reference())) {
    if (error.stage == "encoder.3") {
      ++seen;
      EXPECT_LT(error.nrms, kParityNrms) << "the naive limit passes broken code, as described";
    }
  }
  EXPECT_EQ(seen, 1);
}

TEST(OutputCheck, EverySabotageTripsCheckOneOrTwo) {
  struct Case {
    Sabotage sabotage;
    int layer;
    const char* name;
  };
  std::vector<Case> cases = {{Sabotage::kWindowTooNarrow, 0, "window of 63"},
                             {Sabotage::kWindowTooWide, 0, "window of 65"},
                             {Sabotage::kValuesRotated, 0, "v rotated"}};
  for (int layer = 0; layer < 4; ++layer) {
    cases.push_back({Sabotage::kAttentionOff, layer, "attention off"});
    cases.push_back({Sabotage::kGegluSwapped, layer, "GeGLU halves swapped"});
  }
  for (const Case& c : cases) {
    const auto real = cpu_backend(ops::Precision::kBf16);
    SabotagedBackend backend(*real, c.sabotage, c.layer);
    const Checks checks = checks_of(backend, bf16_reference(), exact_reference());
    EXPECT_TRUE(checks.forced.nrms > kTeacherForcedLimit || checks.free.nrms > kFreeRunningLimit)
        << c.name << " in layer " << c.layer << ": " << checks.forced.nrms << " at "
        << checks.forced.stage << ", " << checks.free.nrms << " at " << checks.free.stage;
    RecordProperty(std::string(c.name) + " in layer " + std::to_string(c.layer),
                   std::to_string(checks.forced.nrms) + " at " + checks.forced.stage);
  }
  const auto real = cpu_backend(ops::Precision::kBf16);
  SabotagedBackend faithful(*real, Sabotage::kNone, 0);
  const Checks checks = checks_of(faithful, bf16_reference(), exact_reference());
  EXPECT_LE(checks.forced.nrms, kTeacherForcedLimit);
  EXPECT_LE(checks.free.nrms, kFreeRunningLimit);
  RecordProperty("faithful", std::to_string(checks.forced.nrms) + " at " + checks.forced.stage);
}

TEST(OutputCheck, NaNIsNeverSmall) {
  NetworkRecord reference = exact_reference();
  reference.embedding[0] = NAN;
  const auto backend = cpu_backend(ops::Precision::kFp32);
  const TinyCheckpoint& tiny = TinyCheckpoint::instance();
  Network network(tiny.config(), tiny.file(), *backend);
  LaunchPlan& plan = network.prepare(tiny_batch().shape);
  const StageError error = parity_errors(network, plan, tiny_batch(), reference).front();
  EXPECT_EQ(error.stage, "embedding");
  EXPECT_EQ(error.nrms, INFINITY);
  EXPECT_EQ(error.max_abs, INFINITY);
  EXPECT_FALSE(meets_parity_pair({"x", INFINITY, INFINITY, 1.0}));
  EXPECT_TRUE(meets_parity_pair({"x", 0.004, 0.5, 30.0}));
  EXPECT_FALSE(meets_parity_pair({"x", 0.004, 0.7, 30.0}));
  EXPECT_FALSE(meets_parity_pair({"x", 0.006, 0.0, 30.0}));
}

// Decisions: probabilities and the chosen option against fp32, on logits whose spread means
// something.
TEST(OutputCheck, DecisionsOfBf16StayWithFp32AndLogitsSpread) {
  const TinyCheckpoint& tiny = TinyCheckpoint::instance();
  const auto exact = cpu_backend(ops::Precision::kFp32);
  const auto rounded = cpu_backend(ops::Precision::kBf16);
  Network fp32(tiny.config(), tiny.file(), *exact);
  Network bf16(tiny.config(), tiny.file(), *rounded);
  double sum = 0.0, squares = 0.0, count = 0.0, largest = 0.0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Batch batch = random_batch(tiny.config(), {4, 48, 6}, 100 + seed);
    const auto expected = testing::run(fp32, batch).logits;
    const auto got = testing::run(bf16, batch).logits;
    for (std::int64_t b = 0; b < 4; ++b) {
      const auto k = static_cast<std::size_t>(batch.counts[static_cast<std::size_t>(b)]);
      const auto probabilities = [&](const std::vector<float>& logits) {
        std::vector<double> p(&logits[static_cast<std::size_t>(b) * 6],
                              &logits[static_cast<std::size_t>(b) * 6] + k);
        double total = 0.0;
        for (double& value : p) total += value = std::exp(value);
        for (double& value : p) value /= total;
        return p;
      };
      const auto p = probabilities(expected);
      const auto q = probabilities(got);
      for (std::size_t i = 0; i < k; ++i) {
        largest = std::max(largest, std::abs(p[i] - q[i]));
        const double logit = expected[static_cast<std::size_t>(b) * 6 + i];
        sum += logit;
        squares += logit * logit;
        count += 1.0;
      }
    }
  }
  const double deviation = std::sqrt(squares / count - (sum / count) * (sum / count));
  RecordProperty("deviation_of_logits", std::to_string(deviation));
  RecordProperty("largest_probability_difference", std::to_string(largest));
  EXPECT_NEAR(deviation, 2.0, 0.5);
  EXPECT_LE(largest, 0.03);
}

}  // namespace
}  // namespace abba::model
