// type_embedding (engine/ops/problem.h: TypeEmbeddingProblem). Read in place: h act [B*L, D], table
// act [3, D], types int32 [B] in 0 .. 2 (the model refuses others). Nothing is copied. Written: x
// fp32 [B*L, D], which overlaps nothing. Device addresses; 16-byte alignment is used where it is
// there. Sizes: row_refusal(B*L, D).
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

std::span<const KernelRow> type_embedding_kernels();

void launch_type_embedding(const ops::TypeEmbeddingProblem& problem, const void* table,
                           const void* h, const std::int32_t* types, float* x,
                           const LaunchContext& context);

}  // namespace abba::cuda
