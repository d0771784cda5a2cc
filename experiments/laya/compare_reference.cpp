#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "engine/checkpoint/verify.h"
#include "engine/model/network.h"
#include "engine/model/output_check.h"
#include "engine/model/reference_forward.h"
#include "experiments/laya/commands.h"
#include "experiments/laya/engine_backend.h"
#include "experiments/laya/workload_input.h"

namespace abba::laya {
namespace {

namespace reference = ops::reference;

// The text issue's gate for fp32: absolute difference of a logit.
constexpr double kLogitLimitFp32 = 2e-4;

struct Difference {
  double nrms = 0;  // sqrt(sum (x - r)^2 / sum r^2)
  double max_abs = 0;
};

Difference compare(std::span<const float> values, std::span<const double> wanted) {
  Difference difference;
  double error = 0;
  double power = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double delta = values[i] - wanted[i];
    error += delta * delta;
    power += wanted[i] * wanted[i];
    // A NaN must not pass for small: max() would drop it.
    difference.max_abs =
        std::isnan(delta) ? INFINITY : std::max(difference.max_abs, std::abs(delta));
  }
  difference.nrms = power > 0 ? std::sqrt(error / power) : 0;
  return difference;
}

// Row 0 and the markers of each row of the reference's last decision layer, as read_hidden lays
// out.
std::vector<double> consumed_rows(const reference::NetworkRecord& record, const model::Batch& batch,
                                  std::int64_t hidden) {
  std::vector<double> rows;
  for (std::int64_t b = 0; b < batch.shape.rows; ++b) {
    for (std::int64_t slot = -1; slot < batch.shape.options; ++slot) {
      const bool used = slot >= 0 && slot < batch.counts[static_cast<std::size_t>(b)];
      const std::int64_t position =
          used ? batch.markers[static_cast<std::size_t>(b * batch.shape.options + slot)] : 0;
      const auto begin =
          record.decision.back().output.begin() + (b * batch.shape.tokens + position) * hidden;
      rows.insert(rows.end(), begin, begin + hidden);
    }
  }
  return rows;
}

// [B, K] without the slots beyond a row's options, which hold one large constant on both sides.
template <typename Value>
std::vector<Value> used_slots(const std::vector<Value>& logits, const model::Batch& batch) {
  std::vector<Value> used;
  for (std::int64_t b = 0; b < batch.shape.rows; ++b) {
    const auto row = logits.begin() + b * batch.shape.options;
    used.insert(used.end(), row, row + batch.counts[static_cast<std::size_t>(b)]);
  }
  return used;
}

Difference compare_precision(const checkpoint::Checkpoint& checkpoint, const model::Batch& batch,
                             const reference::NetworkRecord& record,
                             const EngineSettings& settings) {
  const std::unique_ptr<ops::Backend> backend = make_backend(settings);
  model::Network network(checkpoint.config, checkpoint.file, *backend);
  model::LaunchPlan& plan = network.prepare(batch.shape);
  model::Decision decision = network.make_decision(plan);
  network.encode(plan, batch);
  const std::int64_t hidden = checkpoint.config.hidden_size;
  std::vector<float> rows(
      static_cast<std::size_t>(batch.shape.rows * (1 + batch.shape.options) * hidden));
  network.read_hidden(plan, batch, rows);
  network.decide(plan, decision);
  const auto print = [&](const char* stage, const Difference& difference) {
    std::printf("%-5s %-14s nRMS %.3e  max abs %.3e\n",
                std::string(ops::name_of(settings.cpu.precision)).c_str(), stage, difference.nrms,
                difference.max_abs);
  };
  print("consumed", compare(rows, consumed_rows(record, batch, hidden)));
  const Difference logits =
      compare(used_slots(decision.logits, batch), used_slots(record.logits, batch));
  print("logits", logits);
  print("action_logits", compare(decision.actions, record.actions));
  std::fputs(memory_text(*backend).c_str(), stdout);
  return logits;
}

// The three output checks of the numerics page in bf16; checks 1 and 2 are limits, check 3 is only
// told. The reference of check 1 holds the weights as a bf16 engine does.
bool run_output_checks(const checkpoint::Checkpoint& checkpoint, const model::Batch& batch,
                       const reference::NetworkRecord& exact, const EngineSettings& settings) {
  const reference::NetworkRecord rounded =
      model::reference_forward(checkpoint.config, checkpoint.file, batch, {.round_weights = true});
  const std::unique_ptr<ops::Backend> backend = make_backend(settings);
  model::Network network(checkpoint.config, checkpoint.file, *backend);
  model::LaunchPlan& plan = network.prepare(batch.shape);
  bool within = true;
  const auto judge = [&](int check, const std::vector<model::StageError>& errors, double limit) {
    const model::StageError& error = model::worst(errors);
    const bool keeps = error.nrms <= limit;
    within = within && (keeps || check == 3);
    std::printf("bf16  check %d        worst nRMS %.3e at %s, limit %.3g: %s\n", check, error.nrms,
                error.stage.c_str(), limit, keeps ? "kept" : "broken");
  };
  judge(1, model::teacher_forced_errors(network, plan, batch, rounded), model::kTeacherForcedLimit);
  judge(2, model::free_running_errors(network, plan, batch, exact), model::kFreeRunningLimit);
  judge(3, model::parity_errors(network, plan, batch, exact), model::kParityNrms);
  return within;
}

}  // namespace

bool compare_reference(const CompareReference& options) {
  const checkpoint::Checkpoint checkpoint(options.checkpoint);
  base::Json shape = base::Json::array();
  shape.push_back(options.rows);
  shape.push_back(options.tokens);
  const WorkloadInput input = read_workload_input(
      base::Json::object({{"shape", shape}, {"seed", static_cast<std::int64_t>(options.seed)}}), "",
      checkpoint.config.pad_token_id, 0);
  const model::Batch& batch = input.batches.front();
  model::check_batch(batch, checkpoint.config);
  const reference::NetworkRecord record =
      model::reference_forward(checkpoint.config, checkpoint.file, batch);
  std::printf("engine (%s) against the double-precision reference, %s, %lld x %lld\n",
              options.backend.c_str(), options.checkpoint.c_str(),
              static_cast<long long>(options.rows), static_cast<long long>(options.tokens));
  EngineSettings settings;
  settings.backend = options.backend;
  settings.cpu.threads = options.threads;
  settings.cpu.precision = ops::Precision::kFp32;
  const Difference fp32 = compare_precision(checkpoint, batch, record, settings);
  settings.cpu.precision = ops::Precision::kBf16;
  compare_precision(checkpoint, batch, record, settings);
  const bool within = fp32.max_abs <= kLogitLimitFp32;
  std::printf("fp32 logits %s the limit of %.0e\n", within ? "keep" : "break", kLogitLimitFp32);
  return (!options.checks || run_output_checks(checkpoint, batch, record, settings)) && within;
}

}  // namespace abba::laya
