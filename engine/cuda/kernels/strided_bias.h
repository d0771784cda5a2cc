// add_bias for a y whose rows lie apart, which is all that a view can say: written in place at any
// row stride, by one kernel, with the bits of the levels of bias.h. Nothing is copied. The model's
// own y is contiguous always. Device addresses, aligned to an element.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

// For kernel_list.cpp.
std::span<const KernelRow> strided_bias_kernels();

// y += bias, relu if asked; act [rows, columns] and [columns], the rows of y `row_stride` >=
// columns elements apart. Sizes: bias_refusal.
void launch_strided_bias(const ops::BiasProblem& problem, const void* bias, void* y,
                         std::int64_t row_stride, const LaunchContext& context);

}  // namespace abba::cuda
