// How kernels read and write rows: kWidth values at a time, widened to float in registers and
// rounded once when stored. A width of 8 moves bf16 by 16 bytes a thread (float by twice 16), 4 by
// 8 (16); the address must be a multiple of that. A width of 1 has no condition.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "engine/cuda/kernels/formulas.h"

namespace abba::cuda {

__device__ inline std::uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return std::uint32_t{__bfloat16_as_ushort(pair.x)} | std::uint32_t{__bfloat16_as_ushort(pair.y)}
                                                           << 16U;
}
__device__ inline void unpack_bf16(std::uint32_t bits, float& low, float& high) {
  low = __uint_as_float(bits << 16U);
  high = __uint_as_float(bits & 0xffff0000U);
}

template <int kWidth>
__device__ inline void load_values(const float* from, float (&to)[kWidth]) {
  if constexpr (kWidth == 1) {
    to[0] = *from;
  } else {
    static_assert(kWidth % 4 == 0);
#pragma unroll
    for (int i = 0; i < kWidth; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + i);
      to[i] = four.x;
      to[i + 1] = four.y;
      to[i + 2] = four.z;
      to[i + 3] = four.w;
    }
  }
}

template <int kWidth>
__device__ inline void load_values(const __nv_bfloat16* from, float (&to)[kWidth]) {
  if constexpr (kWidth == 1) {
    to[0] = __bfloat162float(*from);
  } else if constexpr (kWidth == 4) {
    const uint2 words = *reinterpret_cast<const uint2*>(from);
    unpack_bf16(words.x, to[0], to[1]);
    unpack_bf16(words.y, to[2], to[3]);
  } else {
    static_assert(kWidth == 8);
    const uint4 words = *reinterpret_cast<const uint4*>(from);
    unpack_bf16(words.x, to[0], to[1]);
    unpack_bf16(words.y, to[2], to[3]);
    unpack_bf16(words.z, to[4], to[5]);
    unpack_bf16(words.w, to[6], to[7]);
  }
}

// Rows of an embedding table stored as F16.
__device__ inline void unpack_f16(std::uint32_t bits, float& low, float& high) {
  low = __half2float(__ushort_as_half(static_cast<unsigned short>(bits & 0xffffU)));
  high = __half2float(__ushort_as_half(static_cast<unsigned short>(bits >> 16U)));
}
template <int kWidth>
__device__ inline void load_values(const __half* from, float (&to)[kWidth]) {
  if constexpr (kWidth == 1) {
    to[0] = __half2float(*from);
  } else {
    static_assert(kWidth == 4);
    const uint2 words = *reinterpret_cast<const uint2*>(from);
    unpack_f16(words.x, to[0], to[1]);
    unpack_f16(words.y, to[2], to[3]);
  }
}

template <int kWidth>
__device__ inline void store_values(float* to, const float (&from)[kWidth]) {
  if constexpr (kWidth == 1) {
    *to = from[0];
  } else {
    static_assert(kWidth % 4 == 0);
#pragma unroll
    for (int i = 0; i < kWidth; i += 4) {
      *reinterpret_cast<float4*>(to + i) =
          make_float4(from[i], from[i + 1], from[i + 2], from[i + 3]);
    }
  }
}

template <int kWidth>
__device__ inline void store_values(__nv_bfloat16* to, const float (&from)[kWidth]) {
  if constexpr (kWidth == 1) {
    *to = __float2bfloat16_rn(from[0]);
  } else if constexpr (kWidth == 4) {
    *reinterpret_cast<uint2*>(to) =
        make_uint2(pack_bf16(from[0], from[1]), pack_bf16(from[2], from[3]));
  } else {
    static_assert(kWidth == 8);
    *reinterpret_cast<uint4*>(to) =
        make_uint4(pack_bf16(from[0], from[1]), pack_bf16(from[2], from[3]),
                   pack_bf16(from[4], from[5]), pack_bf16(from[6], from[7]));
  }
}

// The first `count` of 4 neighbours (any number; the others become zero), as a vector if there are
// 4 and they are aligned.
template <typename T>
__device__ inline void load_some(const T* from, int count, bool in_vectors, float (&to)[4]) {
  if (in_vectors && count >= 4) return load_values(from, to);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float one[1] = {};
    if (i < count) load_values(from + i, one);
    to[i] = one[0];
  }
}
template <typename T>
__device__ inline void store_some(T* to, int count, bool in_vectors, const float (&from)[4]) {
  if (in_vectors && count >= 4) return store_values(to, from);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float one[1] = {from[i]};
    if (i < count) store_values(to + i, one);
  }
}

}  // namespace abba::cuda
