// The Laya network: token rows in, option and action logits out. The forward pass is written once,
// in terms of ops::Backend; which kernels run is the backend's and the plan's business.
//   Network network(config, file, backend);
//   LaunchPlan& plan = network.prepare(batch.shape);   // may allocate; once per shape
//   network.encode(plan, batch);                       // boundary "encoder"
//   network.decide(plan, decision);                    // with encode: boundary "model"
// After prepare a request allocates nothing of ours (a library's product may). One thread at a
// time.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/checkpoint/config.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/model/batch.h"
#include "engine/model/launch_plan.h"
#include "engine/model/tap.h"
#include "engine/model/weights.h"
#include "engine/ops/backend.h"

namespace abba::model {

// Sized by Network::make_decision, filled by decide.
struct Decision {
  std::vector<float> logits;   // [B, K], raw; ops::kMaskedLogit in unused slots
  std::vector<float> actions;  // [B, action_count], raw
};

class Network {
 public:
  // `file` and `backend` must outlive the network. Throws Error(kBadInput) naming file and tensor.
  Network(const checkpoint::ModelConfig& config, const checkpoint::SafetensorsFile& file,
          ops::Backend& backend);

  // The plan of a shape, made at the first call with it. Throws Error(kBadInput) for an impossible
  // shape, std::bad_alloc (or the backend's error) if there is no memory for it.
  LaunchPlan& prepare(const Shape& shape);
  // Gives up a shape's plan and its memory; references to it end. Nothing if there is none.
  void forget(const Shape& shape);
  [[nodiscard]] Decision make_decision(const LaunchPlan& plan) const;

  // Checks the batch (Error(kBadInput), nothing computed), uploads it, runs encoder, type embedding
  // and decision layers, and waits. `batch.shape` must be the plan's.
  void encode(LaunchPlan& plan, const Batch& batch, Tap* tap = nullptr);
  // The two parts of encode, for spans: upload checks and copies; run_encoder computes and waits.
  void upload(LaunchPlan& plan, const Batch& batch);
  void run_encoder(LaunchPlan& plan, Tap* tap = nullptr);
  // Scorer and action head on what encode left in the plan, then reads both results back.
  void decide(LaunchPlan& plan, Decision& decision, Tap* tap = nullptr);
  // The two parts of decide, for spans: score starts both heads; read_decision waits and copies.
  void score(LaunchPlan& plan, Tap* tap = nullptr);
  void read_decision(LaunchPlan& plan, Decision& decision);

  // What the heads read, fp32 [B, 1 + K, D]: row 0, then the markers (row 0 again in unused slots),
  // the same for both levels of head_last_layer. For output checks; `hidden` must have that size.
  void read_hidden(LaunchPlan& plan, const Batch& batch, std::span<float> hidden);

  [[nodiscard]] const checkpoint::ModelConfig& config() const { return config_; }
  [[nodiscard]] ops::Backend& backend() { return backend_; }

 private:
  void copy_inputs(LaunchPlan& plan, const Batch& batch);
  void copy_head_inputs(LaunchPlan& plan);
  void start_encoder_layer(LaunchPlan& plan, int layer, Tap* tap);
  void run_encoder_layer(LaunchPlan& plan, int layer, Tap* tap);
  void start_decision_layer(LaunchPlan& plan, int layer, Tap* tap);
  void run_decision_layer(LaunchPlan& plan, int layer, Tap* tap);
  void attend_tokens(LaunchPlan& plan, std::int64_t half_window);
  void attend_picked(LaunchPlan& plan, const PlannedDecisionLayer& planned);
  void finish_decision_layer(LaunchPlan& plan, int layer, const RowBuffers& rows, Tap* tap);
  void linear(const PlannedLinear& planned, tensor::ConstView x, tensor::View y);
  [[nodiscard]] ops::NormProblem norm_of(std::int64_t rows) const;

  checkpoint::ModelConfig config_;
  ops::Backend& backend_;
  Weights weights_;
  std::map<Shape, std::unique_ptr<LaunchPlan>> plans_;
};

}  // namespace abba::model
