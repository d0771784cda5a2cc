// The instructions of the bf16 kernels that CUDA C++ has no word for, portable from sm_80 on: the
// asynchronous copy to shared memory, the matrix load and the warp's matrix product. Shared
// addresses are 32-bit offsets as __cvta_generic_to_shared gives them.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace abba::cuda {

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes from global to shared memory; zeros instead, and nothing read, if !is_real.
__device__ inline void copy_16_async(std::uint32_t to, const void* from, bool is_real) {
  const int size_bytes = is_real ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from),
               "r"(size_bytes)
               : "memory");
}

__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}

// Waits until all but the latest kPending groups of this thread have arrived.
template <int kPending>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

// Four 8x8 matrices of bf16; lane l gives the address of row l % 8 of matrix l / 8 and receives of
// matrix i the elements (l / 4, 2 (l % 4)) and the next in part[i].
__device__ inline void load_matrices(std::uint32_t (&part)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
               : "r"(address)
               : "memory");
}

// The same, each matrix transposed.
__device__ inline void load_matrices_transposed(std::uint32_t (&part)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
               : "r"(address)
               : "memory");
}

// sum[16, 8] += a[16, 16] * b[16, 8], fp32 sums. Lane l holds of sum the rows l / 4 and l / 4 + 8,
// columns 2 (l % 4) and the next.
__device__ inline void multiply_add(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two values rounded to bf16 (nearest even), the first in the lower half.
__device__ inline std::uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

// 2^x; relative error 2^-22, results below the normal floats are 0, 2^-inf = 0, NaN stays NaN.
__device__ inline float power_of_two(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(result) : "f"(x));
  return result;
}

}  // namespace abba::cuda
