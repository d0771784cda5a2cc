// Rotation of q and k in place: x[d], x[d + 32] of each head become x[d] cos - x[d + 32] sin and
// x[d + 32] cos + x[d] sin, each two multiplies and one add in fp32 and one rounding to act. All
// variants do this arithmetic on the same operands in the same order, hence the same bits; they
// differ in how the work is cut into blocks and how a position is found. v is never touched.
#pragma once

#include "engine/cpu/kernels.h"
#include "engine/cpu/simd.h"

namespace abba::cpu::ABBA_CPU_ISA {

inline constexpr std::int64_t kHalfHead = ops::kHeadDim / 2;

template <typename Act>
inline void rotate_head(Act* head, const float* cosines) {
  const float* sines = cosines + kHalfHead;
  for (std::int64_t d = 0; d < kHalfHead; d += kLanes) {
    const Vec low = load(head + d);
    const Vec high = load(head + d + kHalfHead);
    const Vec c = load(cosines + d);
    const Vec s = load(sines + d);
    store(head + d, sub(mul(low, c), mul(high, s)));
    store(head + d + kHalfHead, add(mul(high, c), mul(low, s)));
  }
}

// Blocks of kRows rows times kHeads of the 2 * heads heads of q and k (kHeads = 0: all of them),
// the heads varying fastest; 32-bit positions.
template <typename Act, std::uint32_t kRows, std::uint32_t kHeads>
void rope_blocked(const RopeArgs<Act>& args, Range blocks) {
  const auto rows = static_cast<std::uint32_t>(args.rows);
  const auto length = static_cast<std::uint32_t>(args.length);
  const auto heads = static_cast<std::uint32_t>(2 * args.heads);
  const std::uint32_t per_block = kHeads == 0 ? heads : kHeads;
  const std::uint32_t head_blocks = (heads + per_block - 1) / per_block;
  for (auto block = static_cast<std::uint32_t>(blocks.begin); block < blocks.end; ++block) {
    const std::uint32_t first_row = block / head_blocks * kRows;
    const std::uint32_t first_head = block % head_blocks * per_block;
    const std::uint32_t end_row = first_row + kRows < rows ? first_row + kRows : rows;
    const std::uint32_t end_head = first_head + per_block < heads ? first_head + per_block : heads;
    for (std::uint32_t row = first_row; row < end_row; ++row) {
      const float* table = args.table + row % length * std::uint32_t{ops::kHeadDim};
      Act* head =
          args.qkv + (row * (heads + heads / 2) + first_head) * std::uint32_t{ops::kHeadDim};
      for (std::uint32_t h = first_head; h < end_head; ++h, head += ops::kHeadDim) {
        rotate_head(head, table);
      }
    }
  }
}

inline float load_one(const float* p) {
  return *p;
}
inline float load_one(const Bf16* p) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(p->bits) << 16U);
}
inline void store_one(float* p, float value) {
  *p = value;
}
inline void store_one(Bf16* p, float value) {  // as base::to_bf16, here for the linker's sake
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  const std::uint32_t rounded = is_nan ? bits | 0x400000U : bits + 0x7fffU + (bits >> 16U & 1U);
  p->bits = static_cast<std::uint16_t>(rounded >> 16U);
}

// The same divisor every time, which the compiler must not know: each use costs a 64-bit division.
inline std::uint64_t opaque(std::uint64_t divisor) {
  asm volatile("" : "+r"(divisor));
  return divisor;
}

// Blocks of 32 rows, all heads, one pair at a time, every index taken from the flat 64-bit number
// of the pair by division: what a library does that decomposes indices with emulated 64-bit math.
template <typename Act>
void rope_by_division(const RopeArgs<Act>& args, Range blocks) {
  const auto heads = static_cast<std::uint64_t>(2 * args.heads);
  const std::uint64_t per_row = heads * kHalfHead;
  const std::uint64_t end = static_cast<std::uint64_t>(args.rows) * per_row;
  const std::uint64_t per_block = 32 * per_row;
  const std::uint64_t last = static_cast<std::uint64_t>(blocks.end) * per_block;
  for (std::uint64_t flat = static_cast<std::uint64_t>(blocks.begin) * per_block;
       flat < (last < end ? last : end); ++flat) {
    const std::uint64_t half_head = opaque(kHalfHead);
    const std::uint64_t d = flat % half_head;
    const std::uint64_t head_index = flat / half_head;
    const std::uint64_t head_count = opaque(heads);
    const std::uint64_t h = head_index % head_count;
    const std::uint64_t row = head_index / head_count;
    const std::uint64_t position = row % opaque(static_cast<std::uint64_t>(args.length));
    Act* head = args.qkv + (row * (heads + heads / 2) + h) * ops::kHeadDim;
    const float c = args.table[position * ops::kHeadDim + d];
    const float s = args.table[position * ops::kHeadDim + kHalfHead + d];
    const float low = load_one(head + d);
    const float high = load_one(head + kHalfHead + d);
    const float low_c = low * c;
    const float high_s = high * s;
    const float high_c = high * c;
    const float low_s = low * s;
    store_one(head + d, low_c - high_s);
    store_one(head + kHalfHead + d, high_c + low_s);
  }
}

template <typename Act>
void rope(ops::RopeVariant variant, const RopeArgs<Act>& args, Range blocks) {
  switch (variant) {
    case ops::RopeVariant::kRowBlock32:
      return rope_blocked<Act, 32, 0>(args, blocks);
    case ops::RopeVariant::kRowBlock32Div64:
      return rope_by_division<Act>(args, blocks);
    case ops::RopeVariant::kR1H4:
      return rope_blocked<Act, 1, 4>(args, blocks);
    case ops::RopeVariant::kR2H4:
      return rope_blocked<Act, 2, 4>(args, blocks);
    case ops::RopeVariant::kR1H8:
      return rope_blocked<Act, 1, 8>(args, blocks);
  }
}

}  // namespace abba::cpu::ABBA_CPU_ISA
