// rope: x[d], x[d + 32] of each head of q and k become x[d] cos - x[d + 32] sin and x[d + 32]
// cos + x[d] sin; two multiplications and one addition in fp32, each rounded, then one rounding
// to act. All levels run rotate_low and rotate_high on the same operands, hence the same bits;
// they differ in what a block takes and how a position is found:
//   row_block_32        32 rows, all 2H heads, 128 threads; few blocks: M = 48 gives 2
//   row_block_32_div64  the same blocks; a thread a pair, every index from the pair's flat 64-bit
//                       number by division (five a pair, emulated by the hardware's 32-bit units)
//   r1_h4 r2_h4 r1_h8   1 or 2 rows x 4 or 8 heads: grid x = rows, grid y = heads; M = 48, H = 16
//                       gives 384, 192, 192 blocks
// A thread of the 32-bit levels takes 4 neighbouring pairs: 8 bytes of bf16 (16 of fp32) of each
// half.
// Bytes of a launch: B*L * 2H * 64 * (2 + 2) for bf16 and the table from L2; 3 FLOP an element:
// bound by bandwidth from some 2000 rows on, below by launch geometry.
// Read in place: table. Copied: nothing.
// Preconditions: rope_refusal, alignment as in rope.h.
// Exactness: bitwise to row_block_32_div64.
#include "engine/base/error.h"
#include "engine/cuda/kernels/act_io.cuh"
#include "engine/cuda/kernels/rope.h"
#include "engine/cuda/kernels/row_geometry.h"

namespace abba::cuda {
namespace {

constexpr std::uint32_t kHeadWidth = ops::kHeadDim;
constexpr std::uint32_t kHalf = kHeadWidth / 2;
constexpr std::uint32_t kPerHead = kHalf / kRopeWidth;  // threads a head

// Divisors come as arguments, so that none is known to the compiler.
struct RopeArgs {
  const float* table;
  std::uint64_t rows;    // B * L
  std::uint64_t length;  // L
  std::uint64_t heads;   // 2H: q's and k's
  std::uint64_t half;    // 32
};

template <typename Act>
__device__ void rotate_four(Act* low_half, const float* __restrict__ cosines) {
  float low[4];
  float high[4];
  float c[4];
  float s[4];
  load_values(low_half, low);
  load_values(low_half + kHalf, high);
  load_values(cosines, c);
  load_values(cosines + kHalf, s);
  float rotated_low[4];
  float rotated_high[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    rotated_low[i] = rotate_low(low[i], high[i], c[i], s[i]);
    rotated_high[i] = rotate_high(low[i], high[i], c[i], s[i]);
  }
  store_values(low_half, rotated_low);
  store_values(low_half + kHalf, rotated_high);
}

// `unit`: head * kPerHead + which four pairs of it.
template <typename Act>
__device__ void rotate_unit(const RopeArgs& args, std::uint32_t row, std::uint32_t unit, Act* qkv) {
  const auto length = static_cast<std::uint32_t>(args.length);
  const auto heads = static_cast<std::uint32_t>(args.heads);
  const std::uint32_t pair = unit % kPerHead * static_cast<std::uint32_t>(kRopeWidth);
  const std::uint32_t at = (row * (heads + heads / 2) + unit / kPerHead) * kHeadWidth + pair;
  rotate_four(qkv + at, args.table + row % length * kHeadWidth + pair);
}

template <typename Act, std::uint32_t kRows, std::uint32_t kHeads>
__global__ void rope_heads_kernel(RopeArgs args, Act* qkv) {
  const std::uint32_t row = blockIdx.x * kRows + threadIdx.y;
  const std::uint32_t unit = blockIdx.y * (kHeads * kPerHead) + threadIdx.x;
  if (row >= args.rows || unit >= args.heads * kPerHead) return;
  rotate_unit(args, row, unit, qkv);
}

template <typename Act>
__global__ void rope_rows_kernel(RopeArgs args, Act* qkv) {
  const std::uint32_t first = blockIdx.x * 32;
  const auto rows = static_cast<std::uint32_t>(args.rows);
  const std::uint32_t end = rows - first < 32 ? rows : first + 32;
  const std::uint32_t units = static_cast<std::uint32_t>(args.heads) * kPerHead;
  for (std::uint32_t row = first; row < end; ++row) {
    for (std::uint32_t unit = threadIdx.x; unit < units; unit += blockDim.x) {
      rotate_unit(args, row, unit, qkv);
    }
  }
}

template <typename Act>
__global__ void rope_division_kernel(RopeArgs args, Act* qkv) {
  const std::uint64_t per_row = args.heads * args.half;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * 32 * per_row;
  const std::uint64_t whole = args.rows * per_row;
  const std::uint64_t end = whole - first < 32 * per_row ? whole : first + 32 * per_row;
  for (std::uint64_t flat = first + threadIdx.x; flat < end; flat += blockDim.x) {
    const std::uint64_t d = flat % args.half;
    const std::uint64_t head_index = flat / args.half;
    const std::uint64_t h = head_index % args.heads;
    const std::uint64_t row = head_index / args.heads;
    const std::uint64_t position = row % args.length;
    Act* low_half = qkv + (row * (args.heads + args.heads / 2) + h) * kHeadWidth + d;
    const float* cosine = args.table + position * kHeadWidth + d;
    float low[1];
    float high[1];
    load_values(low_half, low);
    load_values(low_half + kHalf, high);
    const float rotated_low[] = {rotate_low(low[0], high[0], cosine[0], cosine[kHalf])};
    const float rotated_high[] = {rotate_high(low[0], high[0], cosine[0], cosine[kHalf])};
    store_values(low_half, rotated_low);
    store_values(low_half + kHalf, rotated_high);
  }
}

using Bf16 = __nv_bfloat16;
const auto kRowsBf16 = make_kernel("rope_row_block_32_bf16", &rope_rows_kernel<Bf16>);
const auto kRowsFp32 = make_kernel("rope_row_block_32_fp32", &rope_rows_kernel<float>);
const auto kDivisionBf16 = make_kernel("rope_row_block_32_div64_bf16", &rope_division_kernel<Bf16>);
const auto kDivisionFp32 =
    make_kernel("rope_row_block_32_div64_fp32", &rope_division_kernel<float>);
const auto kR1H4Bf16 = make_kernel("rope_r1_h4_bf16", &rope_heads_kernel<Bf16, 1, 4>);
const auto kR1H4Fp32 = make_kernel("rope_r1_h4_fp32", &rope_heads_kernel<float, 1, 4>);
const auto kR2H4Bf16 = make_kernel("rope_r2_h4_bf16", &rope_heads_kernel<Bf16, 2, 4>);
const auto kR2H4Fp32 = make_kernel("rope_r2_h4_fp32", &rope_heads_kernel<float, 2, 4>);
const auto kR1H8Bf16 = make_kernel("rope_r1_h8_bf16", &rope_heads_kernel<Bf16, 1, 8>);
const auto kR1H8Fp32 = make_kernel("rope_r1_h8_fp32", &rope_heads_kernel<float, 1, 8>);

// The one place that turns a level into a kernel.
template <typename Act>
const Kernel<RopeArgs, Act*>& kernel_of(ops::RopeVariant variant,
                                        const Kernel<RopeArgs, Act*>& rows,
                                        const Kernel<RopeArgs, Act*>& division,
                                        const Kernel<RopeArgs, Act*>& r1_h4,
                                        const Kernel<RopeArgs, Act*>& r2_h4,
                                        const Kernel<RopeArgs, Act*>& r1_h8) {
  switch (variant) {
    case ops::RopeVariant::kRowBlock32:
      return rows;
    case ops::RopeVariant::kRowBlock32Div64:
      return division;
    case ops::RopeVariant::kR1H4:
      return r1_h4;
    case ops::RopeVariant::kR2H4:
      return r2_h4;
    default:
      return r1_h8;
  }
}
const Kernel<RopeArgs, Bf16*>& bf16_kernel_of(ops::RopeVariant variant) {
  return kernel_of(variant, kRowsBf16, kDivisionBf16, kR1H4Bf16, kR2H4Bf16, kR1H8Bf16);
}
const Kernel<RopeArgs, float*>& fp32_kernel_of(ops::RopeVariant variant) {
  return kernel_of(variant, kRowsFp32, kDivisionFp32, kR1H4Fp32, kR2H4Fp32, kR1H8Fp32);
}

}  // namespace

std::span<const KernelRow> rope_kernels() {
  static const KernelRow kList[] = {kRowsBf16, kRowsFp32, kDivisionBf16, kDivisionFp32, kR1H4Bf16,
                                    kR1H4Fp32, kR2H4Bf16, kR2H4Fp32,     kR1H8Bf16,     kR1H8Fp32};
  return kList;
}

const KernelRow& rope_kernel_of(ops::RopeVariant variant, ops::Precision precision) {
  if (precision == ops::Precision::kBf16) return bf16_kernel_of(variant);
  return fp32_kernel_of(variant);
}

void launch_rope(const ops::RopeProblem& problem, const float* table, void* qkv,
                 const LaunchContext& context) {
  ABBA_CHECK(rope_refusal(problem).empty());
  ABBA_CHECK(problem.variant == ops::RopeVariant::kRowBlock32Div64 ||
             vector_width(ops::kHeadDim, 4, {table, qkv}) == 4);
  const Geometry geometry = rope_geometry(problem);
  const RopeArgs args{table, static_cast<std::uint64_t>(problem.batch * problem.length),
                      static_cast<std::uint64_t>(problem.length),
                      static_cast<std::uint64_t>(2 * problem.heads), kHalf};
  if (context.is_bf16()) {
    context.launch(bf16_kernel_of(problem.variant), geometry, args, static_cast<Bf16*>(qkv));
  } else {
    context.launch(fp32_kernel_of(problem.variant), geometry, args, static_cast<float*>(qkv));
  }
}

}  // namespace abba::cuda
