// embed_norm (engine/ops/problem.h: EmbedNormProblem). Read in place: the table as it is stored
// (F16, BF16 or F32 [vocabulary, hidden]), ids int32 [rows] with 0 <= id < vocabulary (the model
// refuses others before they reach a device), gain fp32. Nothing is copied. Written: residual fp32
// and normed act, [rows, hidden]. Device addresses; 16-byte alignment is used where it is there.
// Sizes: norm_refusal.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/kernels/launch.h"
#include "engine/tensor/dtype.h"

namespace abba::cuda {

std::span<const KernelRow> embed_norm_kernels();

// `stored` is the table's type.
void launch_embed_norm(const ops::EmbedNormProblem& problem, tensor::DType stored,
                       const void* table, const float* gain, const std::int32_t* ids,
                       float* residual, void* normed, const LaunchContext& context);

}  // namespace abba::cuda
