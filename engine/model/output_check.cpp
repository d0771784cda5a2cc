#include "engine/model/output_check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include "engine/base/error.h"

namespace abba::model {
namespace {

using ops::reference::LayerRecord;
using ops::reference::NetworkRecord;
using ops::reference::Values;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

// The rows of [M, D] whose values are consumed, and the rows of [P, D] they are computed in under
// marker_rows.
struct Rows {
  std::vector<std::int64_t> valid;          // token rows below each length
  std::vector<std::int64_t> picked_slots;   // rows of [P, D] in use
  std::vector<std::int64_t> picked_tokens;  // the token rows they stand for

  explicit Rows(const Batch& batch) {
    const auto [rows, tokens, options] = batch.shape;
    for (std::int64_t b = 0; b < rows; ++b) {
      for (std::int64_t i = 0; i < batch.lengths[at(b)]; ++i) valid.push_back(b * tokens + i);
      for (std::int64_t slot = 0; slot <= batch.counts[at(b)]; ++slot) {
        picked_slots.push_back(b * (1 + options) + slot);
        const std::int64_t position = slot == 0 ? 0 : batch.markers[at(b * options + slot - 1)];
        picked_tokens.push_back(b * tokens + position);
      }
    }
  }
};

// Columns that are no outliers: |reference| nowhere above kOutlierFactor times the median over the
// columns of their RMS.
std::vector<bool> plain_columns(const Values& reference, const std::vector<std::int64_t>& rows,
                                std::int64_t width) {
  std::vector<double> squares(at(width), 0.0);
  std::vector<double> peaks(at(width), 0.0);
  for (const std::int64_t row : rows) {
    for (std::int64_t c = 0; c < width; ++c) {
      const double value = std::abs(reference[at(row * width + c)]);
      squares[at(c)] += value * value;
      peaks[at(c)] = std::max(peaks[at(c)], value);
    }
  }
  std::vector<double> sorted = squares;
  std::nth_element(sorted.begin(), sorted.begin() + width / 2, sorted.end());
  const double median = std::sqrt(sorted[at(width / 2)] / static_cast<double>(rows.size()));
  std::vector<bool> plain(at(width));
  for (std::size_t c = 0; c < plain.size(); ++c) plain[c] = peaks[c] <= kOutlierFactor * median;
  return plain;
}

// Compares stages as the network passes them.
class Comparison : public Tap {
 public:
  Comparison(const NetworkRecord& reference, const Batch& batch, const LaunchPlan& plan)
      : rows_(batch), width_(plan.tokens.residual.columns()), picked_(plan.picked) {
    expected_["embedding"] = &reference.embedding;
    expected_["final"] = &reference.final_norm;
    add_layers("encoder.", reference.encoder);
    add_layers("decision.", reference.decision);
  }
  void see(Stage stage, int layer, ops::Backend& backend, tensor::ConstView values) override {
    if (stage == Stage::kLogits || stage == Stage::kActions || is_branch(stage) != branches) return;
    std::vector<float> host(at(values.element_count()));
    backend.download(values, host.data());
    const std::string name = stage_name(stage, layer);
    // By memory, not by size: 1 + K picked rows may be as many as the L tokens of a row.
    const bool by_token =
        values.data() != picked_.residual.data() && values.data() != picked_.branch.data();
    errors.push_back(compare(name, host, *expected_.at(name),
                             by_token ? rows_.valid : rows_.picked_slots,
                             by_token ? rows_.valid : rows_.picked_tokens));
  }

  bool branches = false;  // compare branches, else the other stages
  bool drop_outliers = false;
  std::vector<StageError> errors;

 private:
  static bool is_branch(Stage stage) {
    return stage == Stage::kAttentionBranch || stage == Stage::kMlpBranch ||
           stage == Stage::kDecisionAttentionBranch || stage == Stage::kDecisionMlpBranch;
  }
  void add_layers(const std::string& prefix, const std::vector<LayerRecord>& layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::string name = prefix + std::to_string(i);
      expected_[name + ".attention"] = &layers[i].attention_branch;
      expected_[name + ".mlp"] = &layers[i].mlp_branch;
      expected_[name] = &layers[i].output;
    }
  }
  [[nodiscard]] StageError compare(const std::string& name, const std::vector<float>& values,
                                   const Values& reference,
                                   const std::vector<std::int64_t>& value_rows,
                                   const std::vector<std::int64_t>& reference_rows) const {
    const auto plain = drop_outliers ? plain_columns(reference, reference_rows, width_)
                                     : std::vector<bool>(at(width_), true);
    StageError error{name};
    double difference_squares = 0.0;
    double reference_squares = 0.0;
    for (std::size_t i = 0; i < value_rows.size(); ++i) {
      for (std::int64_t c = 0; c < width_; ++c) {
        if (!plain[at(c)]) continue;
        const double expected = reference[at(reference_rows[i] * width_ + c)];
        const double difference = values[at(value_rows[i] * width_ + c)] - expected;
        difference_squares += difference * difference;
        reference_squares += expected * expected;
        error.largest = std::max(error.largest, std::abs(expected));
        // A NaN must not pass for small: max() would drop it.
        error.max_abs =
            std::isnan(difference) ? INFINITY : std::max(error.max_abs, std::abs(difference));
      }
    }
    error.nrms = std::sqrt(difference_squares / reference_squares);
    if (std::isnan(error.nrms)) error.nrms = INFINITY;
    return error;
  }

  const Rows rows_;
  const std::int64_t width_;
  const RowBuffers picked_;  // null views where every token is computed
  std::map<std::string, const Values*> expected_;
};

// Puts the reference's layer inputs in place of the computed ones.
class TeacherForced : public Comparison {
 public:
  TeacherForced(const NetworkRecord& reference, const Batch& batch, const LaunchPlan& plan)
      : Comparison(reference, batch, plan), reference_(reference) {
    branches = true;
  }
  const float* encoder_input(int layer) override { return narrow(reference_.encoder[at(layer)]); }
  const float* decision_input(int layer) override { return narrow(reference_.decision[at(layer)]); }

 private:
  const float* narrow(const LayerRecord& layer) {
    input_.assign(layer.input.begin(), layer.input.end());
    return input_.data();
  }
  const NetworkRecord& reference_;
  std::vector<float> input_;
};

std::vector<StageError> errors_of(Network& network, LaunchPlan& plan, const Batch& batch,
                                  Comparison& comparison) {
  network.encode(plan, batch, &comparison);
  ABBA_CHECK(!comparison.errors.empty());
  return std::move(comparison.errors);
}

}  // namespace

std::vector<StageError> teacher_forced_errors(Network& network, LaunchPlan& plan,
                                              const Batch& batch, const NetworkRecord& reference) {
  TeacherForced comparison(reference, batch, plan);
  return errors_of(network, plan, batch, comparison);
}

std::vector<StageError> free_running_errors(Network& network, LaunchPlan& plan, const Batch& batch,
                                            const NetworkRecord& reference) {
  Comparison comparison(reference, batch, plan);
  comparison.drop_outliers = true;
  return errors_of(network, plan, batch, comparison);
}

std::vector<StageError> parity_errors(Network& network, LaunchPlan& plan, const Batch& batch,
                                      const NetworkRecord& reference) {
  Comparison comparison(reference, batch, plan);
  return errors_of(network, plan, batch, comparison);
}

const StageError& worst(std::span<const StageError> errors) {
  ABBA_CHECK(!errors.empty());
  return *std::max_element(errors.begin(), errors.end(),
                           [](const auto& a, const auto& b) { return a.nrms < b.nrms; });
}

bool meets_parity_pair(const StageError& error) {
  return error.nrms <= kParityNrms && error.max_abs <= kParityMaxAbs * std::max(1.0, error.largest);
}

}  // namespace abba::model
