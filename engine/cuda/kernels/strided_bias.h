// add_bias for a y or a bias that lies as it happens to lie. Read and written in place, whatever
// the strides: contiguous operands go to launch_bias at the level that was asked for, any others
// to one kernel for all strides, of the same bits. Nothing is copied. The model's own operands are
// contiguous always. Device addresses, aligned to an element.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

struct StridedRows {  // act [rows, columns]; strides in elements, no two elements at one place
  void* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
};

struct StridedColumns {  // act [columns]; a stride of 0 repeats one value
  const void* data = nullptr;
  std::int64_t stride = 1;
};

// For kernel_list.cpp.
std::span<const KernelRow> strided_bias_kernels();

// y += bias, relu if asked; sizes: bias_refusal. The kernel that ran, null if there was nothing to
// do.
const KernelRow* launch_strided_bias(const ops::BiasProblem& problem, const StridedColumns& bias,
                                     const StridedRows& y, const LaunchContext& context);

}  // namespace abba::cuda
