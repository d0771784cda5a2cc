// Where a check looks into the forward pass. Without a tap the pass does nothing extra; with one it
// is no longer fit to be timed (a tap reads values back).
#pragma once

#include <cstdint>
#include <string>

#include "engine/ops/backend.h"

namespace abba::model {

enum class Stage {
  kEmbedding,                // fp32 [M, D], after the embedding's norm
  kAttentionBranch,          // act [M, D], encoder layer's attn.Wo output before the residual add
  kMlpBranch,                // act [M, D], encoder layer's mlp.Wo output before the residual add
  kLayer,                    // fp32 [M, D], residual after the encoder layer
  kFinal,                    // act [M, D], after the final norm
  kDecisionAttentionBranch,  // act [M or P, D]; P = B * (1 + K) rows under marker_rows
  kDecisionMlpBranch,        // act [M or P, D]
  kDecisionLayer,  // fp32 [M or P, D]; the last one is what the encoder boundary ends with
  kLogits,         // fp32 [B, K], raw, kMaskedLogit in unused slots
  kActions,        // act [B, action_count], raw
};

// "embedding", "encoder.3.attention", "decision.1", "logits", ...
std::string stage_name(Stage stage, int layer);

class Tap {
 public:
  virtual ~Tap() = default;
  // `values` lie in the backend's memory and are valid during the call; backend.download reads
  // them.
  virtual void see(Stage stage, int layer, ops::Backend& backend, tensor::ConstView values) = 0;
  // A residual stream fp32 [M, D] on the host to put in place of the computed input of encoder
  // layer `layer` (from 1) or decision layer `layer`; nullptr keeps the computed one. For
  // teacher-forced checks.
  virtual const float* encoder_input(int layer) {
    (void)layer;
    return nullptr;
  }
  virtual const float* decision_input(int layer) {
    (void)layer;
    return nullptr;
  }
};

}  // namespace abba::model
