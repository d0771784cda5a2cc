// add_bias (engine/ops/problem.h: BiasProblem), the levels strided_div64 and rows_2d, each with
// ReLU or without; `epilogue` belongs to the product. In place on y act [rows, columns]. Read in
// place: bias act [columns]. Nothing is copied. Device addresses; 16-byte alignment is used where
// it is there. Sizes: bias_refusal (row_geometry.h).
#pragma once

#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

std::span<const KernelRow> bias_kernels();
// The kernel a level loads; launch_bias launches this one and no other. Not for kEpilogue.
const KernelRow& bias_kernel_of(ops::BiasVariant variant, ops::Precision precision);

void launch_bias(const ops::BiasProblem& problem, const void* bias, void* y,
                 const LaunchContext& context);

}  // namespace abba::cuda
