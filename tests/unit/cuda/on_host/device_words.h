// What CUDA C++ adds to C++, for kernel files compiled by the host's compiler; included before
// anything else of such a file.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <bit>
#include <cmath>

#include "tests/unit/cuda/on_host/grid.h"

#undef __global__
#define __global__
#undef __device__
#define __device__
#undef __shared__
#define __shared__ thread_local
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __align__
#define __align__(bytes) __attribute__((aligned(bytes)))

#define threadIdx ::abba::cuda::on_host::thread_index
#define blockIdx ::abba::cuda::on_host::block_index
#define blockDim ::abba::cuda::on_host::block_extent

inline void __syncthreads() {
  abba::cuda::on_host::meet_block();
}
inline void __syncwarp() {
  abba::cuda::on_host::meet_warp();
}
inline float __shfl_xor_sync(unsigned, float value, int mask) {
  return abba::cuda::on_host::exchange(value, abba::cuda::on_host::lane() ^ mask);
}
inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
template <typename Word>
Word __ldcg(const Word* from) {
  return *from;
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
