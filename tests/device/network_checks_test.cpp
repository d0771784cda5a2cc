// Whole networks against the reference, by the three checks of the numerics page; what broken code
// looks like to them; decisions.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "engine/model/output_check.h"
#include "engine/model/reference_forward.h"
#include "tests/device/known_discrepancies.h"
#include "tests/device/recorded_reference.h"
#include "tests/device/subject.h"
#include "tests/unit/model/sabotaged_backend.h"

namespace abba::device {
namespace {

using model::StageError;
using model::testing::Sabotage;
using model::testing::SabotagedBackend;
using ops::reference::NetworkRecord;

// fp32 against the double reference of `tiny`; against another fp32 path, 28 layers deep.
constexpr double kFp32Limit = 2e-5;
constexpr double kFp32LimitOfRecords = 1e-4;
constexpr double kAgainstHost = 1.5;  // free-running error of bf16, times that of the host's bf16

class Checks : public NetworkTest {
 protected:
  std::vector<StageError> free_errors(Instance& instance, const NamedBatch& input) {
    return model::free_running_errors(*instance.network,
                                      instance.network->prepare(input.batch.shape), input.batch,
                                      reference_of(GetParam().config, input, false));
  }
  std::vector<StageError> forced_errors(Instance& instance, const NamedBatch& input) {
    return model::teacher_forced_errors(*instance.network,
                                        instance.network->prepare(input.batch.shape), input.batch,
                                        reference_of(GetParam().config, input, is_bf16()));
  }
  [[nodiscard]] double fp32_limit() const {
    return GetParam().config == "tiny" ? kFp32Limit : kFp32LimitOfRecords;
  }
};

TEST_P(Checks, teacher_forced_branches_keep_their_limit) {
  Instance instance = make_instance(GetParam());
  for (const NamedBatch& input : checked_fixtures(GetParam())) {
    const std::vector<StageError> errors = forced_errors(instance, input);
    const StageError& worst = model::worst(errors);
    EXPECT_LE(worst.nrms, is_bf16() ? model::kTeacherForcedLimit : fp32_limit())
        << input.name << " at " << worst.stage;
    RecordProperty(input.name, std::to_string(worst.nrms) + " at " + worst.stage);
    if (is_bf16()) {
      EXPECT_GT(worst.nrms, 1e-4) << "canary: bf16 is not fp32";
    }
    std::cout << "check 1: " << GetParam().config << " " << name_of(GetParam().way) << " "
              << input.name << " " << worst.nrms << " at " << worst.stage << "\n";
  }
}

TEST_P(Checks, free_running_stages_keep_their_limit_and_the_hosts) {
  Instance instance = make_instance(GetParam());
  Instance host = make_instance({GetParam().config, {Kind::kCpu, Precision::kBf16}});
  for (const NamedBatch& input : checked_fixtures(GetParam())) {
    const std::vector<StageError> errors = free_errors(instance, input);
    const StageError worst = model::worst(errors);
    std::cout << "check 2: " << GetParam().config << " " << name_of(GetParam().way) << " "
              << input.name << " " << worst.nrms << " at " << worst.stage;
    if (is_bf16()) {
      const std::vector<StageError> host_errors = free_errors(host, input);
      const StageError host_worst = model::worst(host_errors);
      EXPECT_LE(worst.nrms, model::kFreeRunningLimit) << input.name << " at " << worst.stage;
      EXPECT_LE(worst.nrms, kAgainstHost * host_worst.nrms)
          << input.name << " at " << worst.stage << ", the host at " << host_worst.stage;
      std::cout << ", the host's bf16 " << host_worst.nrms << " at " << host_worst.stage;
    } else {
      EXPECT_LE(worst.nrms, fp32_limit()) << input.name << " at " << worst.stage;
    }
    std::cout << "\n";
  }
}

// The seeds' pair. ABBA_RECORD_DISCREPANCIES=FILE appends what was found to a file.
TEST_P(Checks, the_seeds_pair_is_met_or_the_failure_is_listed) {
  Instance instance = make_instance(GetParam());
  const std::vector<Discrepancy> known = read_discrepancies(data_path("known_discrepancies.json"));
  const char* record = std::getenv("ABBA_RECORD_DISCREPANCIES");
  for (const NamedBatch& input : checked_fixtures(GetParam())) {
    const std::vector<StageError> errors =
        model::parity_errors(*instance.network, instance.network->prepare(input.batch.shape),
                             input.batch, reference_of(GetParam().config, input, false));
    Discrepancy found = discrepancy_of(errors);
    found.backend = instance.backend->name();
    found.precision = ops::name_of(instance.backend->precision());
    found.config = GetParam().config;
    found.fixture = input.name;
    if (found.nrms >= 0.0 && record != nullptr) {
      std::ofstream(record, std::ios::app) << line_of(found) << "\n";
    }
    EXPECT_EQ(judge(found, known), "");
  }
}

// The host's fp32 record, which stands in for the double reference of the large networks, held
// against it where that is affordable.
TEST(RecordedReference, agrees_with_the_double_reference) {
  const NamedBatch input = fixtures("tiny").at(5);  // medium_3: 4 x 176
  for (const bool rounded : {false, true}) {
    const NetworkRecord& exact = reference_of("tiny", input, rounded);
    const NetworkRecord record =
        record_reference(config_of("tiny"), file_of("tiny"), input.batch, rounded, 2);
    const auto nrms = [&](const Values& a, const Values& b) {
      double error = 0.0;
      double power = 0.0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const auto token = static_cast<std::int64_t>(i) / config_of("tiny").hidden_size;
        const std::int64_t row = token / input.batch.shape.tokens;
        if (token % input.batch.shape.tokens >= input.batch.lengths[static_cast<std::size_t>(row)])
          continue;
        error += (a[i] - b[i]) * (a[i] - b[i]);
        power += b[i] * b[i];
      }
      return std::sqrt(error / power);
    };
    for (std::size_t i = 0; i < exact.encoder.size(); ++i) {
      EXPECT_LE(nrms(record.encoder[i].input, exact.encoder[i].input), kFp32Limit) << i;
      EXPECT_LE(nrms(record.encoder[i].mlp_branch, exact.encoder[i].mlp_branch), kFp32Limit) << i;
      EXPECT_LE(nrms(record.encoder[i].attention_branch, exact.encoder[i].attention_branch),
                kFp32Limit)
          << i;
    }
    for (std::size_t i = 0; i < exact.decision.size(); ++i) {
      EXPECT_LE(nrms(record.decision[i].input, exact.decision[i].input), kFp32Limit) << i;
      EXPECT_LE(nrms(record.decision[i].output, exact.decision[i].output), kFp32Limit) << i;
    }
    // Canary: rounded weights are other weights.
    const NetworkRecord& other = reference_of("tiny", input, !rounded);
    EXPECT_GT(nrms(record.encoder[1].mlp_branch, other.encoder[1].mlp_branch), 10 * kFp32Limit);
  }
}

// Negative controls on the checkpoint with outliers: each must trip check 1 or 2.
class Controls : public Checks {
 protected:
  struct Errors {
    double forced;
    double free;
  };
  Errors errors_with(Sabotage sabotage, int layer) {
    const auto real = make_backend(GetParam().way);
    SabotagedBackend backend(*real, sabotage, layer);
    model::Network network(config(), file_of(GetParam().config), backend);
    const NamedBatch input = batch();
    model::LaunchPlan& plan = network.prepare(input.batch.shape);
    return {model::worst(
                model::teacher_forced_errors(network, plan, input.batch,
                                             reference_of(GetParam().config, input, is_bf16())))
                .nrms,
            model::worst(model::free_running_errors(network, plan, input.batch,
                                                    reference_of(GetParam().config, input, false)))
                .nrms};
  }
  // Longer than a window, with padding.
  [[nodiscard]] NamedBatch batch() const {
    return {"random_3x160", model::random_batch(config(), {3, 160, 5}, 21)};
  }
};

TEST_P(Controls, every_sabotage_trips_check_one_or_two) {
  struct Case {
    Sabotage sabotage;
    int layer;
    const char* name;
  };
  std::vector<Case> cases = {{Sabotage::kWindowTooNarrow, 0, "window of 63"},
                             {Sabotage::kWindowTooWide, 0, "window of 65"},
                             {Sabotage::kValuesRotated, 0, "v rotated"}};
  for (int layer = 0; layer < static_cast<int>(config().layer_count); layer += 3) {
    cases.push_back({Sabotage::kAttentionOff, layer, "attention off"});
    cases.push_back({Sabotage::kGegluSwapped, layer, "GeGLU halves swapped"});
  }
  for (const Case& c : cases) {
    const Errors errors = errors_with(c.sabotage, c.layer);
    EXPECT_TRUE(errors.forced > model::kTeacherForcedLimit ||
                errors.free > model::kFreeRunningLimit)
        << c.name << " in layer " << c.layer << ": " << errors.forced << ", " << errors.free;
  }
  const Errors faithful = errors_with(Sabotage::kNone, 0);
  EXPECT_LE(faithful.forced, model::kTeacherForcedLimit);
  EXPECT_LE(faithful.free, model::kFreeRunningLimit);
}

// Decisions: probabilities and chosen options against fp32 on the host.
class Decisions : public NetworkTest {};

std::vector<double> probabilities(const std::vector<float>& logits, std::int64_t row,
                                  std::int64_t slots, std::int64_t count) {
  const auto begin = logits.begin() + row * slots;
  std::vector<double> p(begin, begin + count);
  double total = 0.0;
  const double top = *std::max_element(p.begin(), p.end());
  for (double& value : p) total += value = std::exp(value - top);
  for (double& value : p) value /= total;
  return p;
}

TEST_P(Decisions, stay_with_fp32) {
  Instance instance = make_instance(GetParam());
  double largest = 0.0;
  for (const NamedBatch& input : checked_fixtures(GetParam())) {
    const std::vector<float> got = model::testing::run(*instance.network, input.batch).logits;
    const Values& exact = reference_of(GetParam().config, input, false).logits;
    const std::vector<float> expected(exact.begin(), exact.end());
    for (std::int64_t b = 0; b < input.batch.shape.rows; ++b) {
      const std::int64_t count = input.batch.counts[static_cast<std::size_t>(b)];
      const auto p = probabilities(expected, b, input.batch.shape.options, count);
      const auto q = probabilities(got, b, input.batch.shape.options, count);
      for (std::size_t i = 0; i < p.size(); ++i) {
        largest = std::max(largest, std::abs(p[i] - q[i]));
      }
      // A flip is one only where fp32 was sure beyond the margin.
      const auto chosen = std::max_element(p.begin(), p.end()) - p.begin();
      const auto flipped = std::max_element(q.begin(), q.end()) - q.begin();
      EXPECT_LE(p[static_cast<std::size_t>(chosen)] - p[static_cast<std::size_t>(flipped)], 0.03)
          << input.name << " row " << b;
    }
  }
  EXPECT_LE(largest, is_bf16() ? 0.03 : 1e-3);
  std::cout << "decisions: " << GetParam().config << " " << name_of(GetParam().way)
            << " largest difference of a probability " << largest << "\n";
}

std::vector<Subject> small_bf16_subjects() {
  std::vector<Subject> some = bf16_subjects();
  std::erase_if(some, [](const Subject& s) { return s.config != "tiny" && s.config != "student"; });
  return some;
}

INSTANTIATE_TEST_SUITE_P(device, Checks, testing::ValuesIn(subjects()), subject_name);
INSTANTIATE_TEST_SUITE_P(device, Decisions, testing::ValuesIn(subjects()), subject_name);
INSTANTIATE_TEST_SUITE_P(device, Controls, testing::ValuesIn(small_bf16_subjects()), subject_name);

}  // namespace
}  // namespace abba::device
