// The whole network once more in double precision, straight from the model's definition: no fused
// schedule, no plan, no subset of rows, one tensor read at a time. It records what a check compares
// against. English 1 x 48 takes some ten seconds and about a gigabyte.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/ops/reference/reference_ops.h"

namespace abba::ops::reference {

struct NetworkSizes {
  std::int64_t hidden = 0;        // D
  std::int64_t heads = 0;         // H
  std::int64_t gated = 0;         // F
  std::int64_t vocabulary = 0;    // V
  std::vector<bool> full_layers;  // one per encoder layer: full or sliding attention
  std::int64_t half_window = 64;
  float theta_full = 160000.0F;
  float theta_sliding = 10000.0F;
  float epsilon = 1e-5F;
  std::int64_t decision_layers = 2;
  std::int64_t action_hidden = 256;
  std::int64_t actions = 2;
};

// Elements [first, first + count) of tensor `name` as float, exact for F16, BF16 and F32.
using WeightSource = std::function<std::vector<float>(const std::string& name, std::int64_t first,
                                                      std::int64_t count)>;

struct NetworkInput {
  std::int64_t rows = 0;              // B
  std::int64_t tokens = 0;            // L
  std::int64_t options = 0;           // K
  std::vector<std::int32_t> ids;      // [B, L]
  std::vector<std::int32_t> lengths;  // [B]
  std::vector<std::int32_t> types;    // [B]
  std::vector<std::int32_t> markers;  // [B, K]
  std::vector<std::int32_t> counts;   // [B]
};

struct NetworkOptions {
  // Weights of linear layers, linear biases, type embedding and rotation tables rounded to bf16
  // first, as a bf16 engine holds them. Activations are never rounded.
  bool round_weights = false;
};

struct LayerRecord {
  Values input;             // residual before the layer, [M, D]
  Values attention_branch;  // [M, D], before the residual add
  Values mlp_branch;        // [M, D], before the residual add
  Values output;            // residual after the layer, [M, D]
};

// Padded rows hold finite values that mean nothing.
struct NetworkRecord {
  Values embedding;  // [M, D]
  std::vector<LayerRecord> encoder;
  Values final_norm;                  // [M, D]
  std::vector<LayerRecord> decision;  // the last output is the encoder boundary's
  Values logits;                      // [B, K], kMaskedLogit in unused slots
  Values actions;                     // [B, actions]
};

NetworkRecord run_network(const NetworkSizes& sizes, const WeightSource& weights,
                          const NetworkInput& input, const NetworkOptions& options = {});

}  // namespace abba::ops::reference
