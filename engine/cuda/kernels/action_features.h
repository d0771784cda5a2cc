// action_features (engine/ops/problem.h: ActionFeaturesProblem). Read in place: raw_logits act
// [B*K], counts int32 [B] with 1 <= counts[b] <= K (the model refuses others), first fp32 [B, D].
// Nothing is copied but `first` into its place in `features`. Written: logits fp32 [B, K], features
// act [B, D + 4]. Device addresses, aligned to an element. Sizes: row_refusal(B, D) and (B, K).
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

std::span<const KernelRow> action_features_kernels();

void launch_action_features(const ops::ActionFeaturesProblem& problem, const void* raw_logits,
                            const std::int32_t* counts, const float* first, float* logits,
                            void* features, const LaunchContext& context);

}  // namespace abba::cuda
