// Everything about one shape that can be settled before a request: the levels that really run,
// where each activation lies in one arena, and the resolved matrix products. Made by
// Network::prepare, owned by the network; a request reads and writes the arena and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/batch.h"
#include "engine/model/weights.h"
#include "engine/ops/backend.h"
#include "engine/ops/work.h"

namespace abba::model {

// A linear layer resolved for one number of rows. Where the level of `bias` says so, the bias is an
// operation of its own after the product.
struct PlannedLinear {
  ops::MatmulId matmul;
  bool separate_bias = false;
  ops::BiasProblem bias_problem;
  ops::WeightId bias;
};

struct PlannedEncoderLayer {
  ops::MatmulId qkv, attention_out, mlp_up, mlp_down;
};

struct PlannedDecisionLayer {
  PlannedLinear qkv, q, kv, attention_out, up, down;
};

// A piece of the arena: "wide" holds q, k, v first and the gated or FFN activations after them.
struct PlannedBuffer {
  std::string name;
  std::size_t offset_bytes = 0;
  tensor::DType dtype = tensor::DType::kF32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// Activations of the token rows or of the picked rows (B * (1 + K): token 0, then the markers).
struct RowBuffers {
  std::int64_t rows = 0;
  tensor::View residual;  // fp32 [rows, D]
  tensor::View normed;    // act [rows, D]
  tensor::View wide;      // act [rows, max(3D, F, 4D)]
  tensor::View attended;  // act [rows, D]
  tensor::View by_head;   // act [rows, D]; only for head_major
  tensor::View branch;    // act [rows, D]
};

struct LaunchPlan {
  Shape shape;
  ops::Choices choices;  // what runs, after fallbacks
  std::string note;      // one sentence per fallback, or empty
  ops::Work encode_work;
  ops::Work decide_work;

  std::unique_ptr<ops::Arena> arena;
  std::vector<PlannedBuffer> buffers;

  tensor::View ids, lengths, types, counts;           // int32 [M], [B], [B], [B]
  tensor::View picked_rows, marker_rows, first_rows;  // int32 [P], [B*K], [B]
  RowBuffers tokens;
  RowBuffers picked;                               // only for marker_rows
  tensor::View markers, first;                     // fp32 [B*K, D], [B, D]
  tensor::View scored, scorer_hidden, raw_logits;  // act [B*K, D], [B*K, D], [B*K, 1]
  tensor::View logits;                             // fp32 [B, K]
  tensor::View features, action_hidden, actions;   // act [B, D+4], [B, 256], [B, actions]

  std::vector<PlannedEncoderLayer> encoder;
  std::vector<PlannedDecisionLayer> decision;
  ops::MatmulId scorer_first, scorer_second, action_first, action_second;
  // Host staging for what upload() derives from a batch and decide() may still have to copy.
  std::vector<std::int32_t> host_picked, host_markers, host_first, host_counts;

  // The rows the heads read, [P] of them or [M]: the encoder boundary's result.
  [[nodiscard]] const RowBuffers& result() const { return picked.rows > 0 ? picked : tokens; }
};

std::unique_ptr<LaunchPlan> make_plan(const Shape& shape, const checkpoint::ModelConfig& config,
                                      const Weights& weights, ops::Backend& backend);

}  // namespace abba::model
