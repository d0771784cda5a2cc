// The network's weights, prepared by a backend once: each checkpoint tensor by its inventory name,
// F16, BF16 or F32. The backend owns the prepared memory; this holds its names.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/checkpoint/config.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/ops/backend.h"

namespace abba::model {

struct EncoderLayerWeights {
  ops::WeightId attention_norm;  // invalid in layer 0, whose input is taken as it is
  ops::WeightId qkv;             // [3D, D]
  ops::WeightId attention_out;   // [D, D]
  ops::WeightId mlp_norm;
  ops::WeightId mlp_up;    // [2F, D], rows 0..F-1 activated, F..2F-1 gate
  ops::WeightId mlp_down;  // [D, F]
};

struct LinearWeights {
  ops::WeightId matrix;
  ops::WeightId bias;
};

struct NormWeights {
  ops::WeightId gain;
  ops::WeightId bias;
};

struct DecisionLayerWeights {
  NormWeights norm1;
  LinearWeights qkv;  // [3D, D]; invalid in the last layer under marker_rows
  LinearWeights q;    // [D, D] and [2D, D]: the last layer under marker_rows alone
  LinearWeights kv;
  LinearWeights attention_out;
  NormWeights norm2;
  LinearWeights up;    // linear1 [4D, D]
  LinearWeights down;  // linear2 [D, 4D]
};

struct Weights {
  ops::WeightId embedding;  // [V, D], read in place: the checkpoint file must outlive the backend
  ops::WeightId embedding_norm;
  std::vector<EncoderLayerWeights> encoder;
  ops::WeightId final_norm;
  ops::WeightId type_table;  // [3, D]
  std::vector<DecisionLayerWeights> decision;
  NormWeights scorer_norm;
  LinearWeights scorer_hidden;  // [D, D]
  LinearWeights scorer_out;     // [1, D]
  LinearWeights action_hidden;  // [256, D + 4]
  LinearWeights action_out;     // [action_count, 256]
  ops::WeightId rope_full;
  ops::WeightId rope_sliding;
};

// Prepares every tensor; pages of the file that were converted are given back as it goes, so the
// peak is about the prepared weights. Throws Error(kBadInput) naming file and tensor if one is
// missing or has another shape than `config` implies.
Weights load_weights(const checkpoint::ModelConfig& config, const checkpoint::SafetensorsFile& file,
                     ops::Backend& backend);

}  // namespace abba::model
