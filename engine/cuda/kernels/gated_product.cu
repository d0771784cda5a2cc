// gated_product: u1 = x W1^T, u2 = x W2^T by tensor cores with fp32 sums, y = act(gelu_erf(u1) *
// u2) with GELU and product in fp32 and one rounding. Mapping: grid x = columns of y in tiles, grid
// y = rows in tiles, so that blocks at work together share a few rows of x and all of the weight in
// the cache. A warp has the sums of both halves for the same columns, hence the gate needs no other
// thread. Bytes of a launch: weight 4 * columns * depth once, x again for every tile of columns
// (from the cache), y 2 * rows * columns; 4 * rows * columns * depth FLOPs. Bound by the weight's
// bytes up to some 200 rows, by tensor cores (mma.sync, about two thirds of what wgmma gives)
// beyond. Read in place: x, weight. Copied: nothing; stages of 64 values of depth go through shared
// memory, 16-byte pieces at piece ^ row % 8 so that eight rows lie in eight different groups of
// banks. Preconditions: gated_product_refusal, 16-byte alignment. Exactness: tolerance to the
// double reference; a value is one chain of sums over depth in steps of 16, the same for every tile
// and every number of rows: bitwise between tiles.
#include "engine/base/error.h"
#include "engine/cuda/kernels/attention_mma.cuh"
#include "engine/cuda/kernels/formulas.h"
#include "engine/cuda/kernels/gated_product.h"
#include "engine/cuda/kernels/gated_tile.h"
#include "engine/cuda/kernels/row_geometry.h"

namespace abba::cuda {

extern __shared__ __align__(128) unsigned char gated_stages[];

namespace {

using Bf16 = __nv_bfloat16;

struct GatedArgs {
  const Bf16* x;
  const Bf16* weight;
  Bf16* y;
  std::int64_t rows;
  int columns;
  int depth;
};

__device__ std::uint32_t place_in_stage(int row, int piece) {
  return static_cast<std::uint32_t>(row * kGatedRowBytes + ((piece ^ (row & 7)) << 4));
}

// kCount rows of `from` (`limit` of them exist, `depth` values each), values first_k and the next
// 63, to the rows of a stage at `to`; zeros for what does not exist. Each thread waits for its own.
template <int kCount, int kThreads>
__device__ void copy_rows(std::uint32_t to, const Bf16* from, std::int64_t limit, int depth,
                          int first_k) {
  const int piece = static_cast<int>(threadIdx.x) % 8;
  const int k = first_k + piece * 8;
#pragma unroll
  for (int i = 0; i < kCount / (kThreads / 8); ++i) {
    const int row = i * (kThreads / 8) + static_cast<int>(threadIdx.x) / 8;
    const bool is_real = row < limit && k < depth;
    const Bf16* piece_from = is_real ? from + std::int64_t{row} * depth + k : from;
    copy_16_async(to + place_in_stage(row, piece), piece_from, is_real);
  }
}

template <typename Tile>
__device__ void copy_stage(const GatedArgs& args, std::uint32_t stage, int first_k) {
  const std::int64_t row = std::int64_t{blockIdx.y} * Tile::kRows;
  const int column = static_cast<int>(blockIdx.x) * Tile::kColumns;
  const Bf16* first_half = args.weight + std::int64_t{column} * args.depth;
  const Bf16* second_half = first_half + std::int64_t{args.columns} * args.depth;
  const std::uint32_t halves = stage + Tile::kRows * kGatedRowBytes;
  copy_rows<Tile::kRows, Tile::kThreads>(stage, args.x + row * args.depth, args.rows - row,
                                         args.depth, first_k);
  copy_rows<Tile::kColumns, Tile::kThreads>(halves, first_half, args.columns - column, args.depth,
                                            first_k);
  copy_rows<Tile::kColumns, Tile::kThreads>(halves + Tile::kColumns * kGatedRowBytes, second_half,
                                            args.columns - column, args.depth, first_k);
}

// Where a warp's part of the tile begins, and its sums: of both halves, [16 x 8] pieces of y.
template <typename Tile>
struct WarpPart {
  int row = 0;
  int column = 0;
  float sum[2][Tile::kTilesDown][Tile::kTilesAcross][4] = {};
};

// The 64 values of depth of one stage, 16 at a time.
template <typename Tile>
__device__ void multiply_stage(std::uint32_t stage, WarpPart<Tile>& part) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int step = 0; step < kGatedDepth / 16; ++step) {
    std::uint32_t a[Tile::kTilesDown][4];
#pragma unroll
    for (int i = 0; i < Tile::kTilesDown; ++i) {
      const int row = part.row + i * 16 + lane % 16;
      load_matrices(a[i], stage + place_in_stage(row, 2 * step + lane / 16));
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int j = 0; j < Tile::kTilesAcross; j += 2) {  // 16 columns: two pieces of 8
        const int column = part.column + j * 8 + lane / 16 * 8 + lane % 8;
        const int row = Tile::kRows + half * Tile::kColumns + column;
        std::uint32_t b[4];
        load_matrices(b, stage + place_in_stage(row, 2 * step + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < Tile::kTilesDown; ++i) {
          multiply_add(part.sum[half][i][j], a[i], b[0], b[1]);
          multiply_add(part.sum[half][i][j + 1], a[i], b[2], b[3]);
        }
      }
    }
  }
}

__device__ float gated(float value, float gate) {
  return round_mul(gelu(value), gate);
}

template <typename Tile>
__device__ void store_part(const GatedArgs& args, const WarpPart<Tile>& part) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t first_row = std::int64_t{blockIdx.y} * Tile::kRows + part.row + lane / 4;
  const int first_column =
      static_cast<int>(blockIdx.x) * Tile::kColumns + part.column + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < Tile::kTilesDown; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::kTilesAcross; ++j) {
      const float(&u)[4] = part.sum[0][i][j];
      const float(&gate)[4] = part.sum[1][i][j];
      const int column = first_column + j * 8;
#pragma unroll
      for (int below = 0; below < 2; ++below) {  // the row, then the one 8 further down
        const std::int64_t row = first_row + i * 16 + below * 8;
        if (row >= args.rows || column >= args.columns) continue;
        *reinterpret_cast<std::uint32_t*>(args.y + row * args.columns + column) = pack_bf16(
            gated(u[2 * below], gate[2 * below]), gated(u[2 * below + 1], gate[2 * below + 1]));
      }
    }
  }
}

template <typename Tile>
__global__ void __launch_bounds__(Tile::kThreads) gated_product_kernel(GatedArgs args) {
  const std::uint32_t stages = shared_address(gated_stages);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int steps = (args.depth + kGatedDepth - 1) / kGatedDepth;
  WarpPart<Tile> part;
  part.row = warp % Tile::kWarpsDown * Tile::kTilesDown * 16;
  part.column = warp / Tile::kWarpsDown * Tile::kTilesAcross * 8;
#pragma unroll
  for (int step = 0; step < Tile::kStages - 1; ++step) {
    if (step < steps) copy_stage<Tile>(args, stages + step * Tile::kStageBytes, step * kGatedDepth);
    commit_copies();
  }
  for (int step = 0; step < steps; ++step) {
    wait_copies<Tile::kStages - 2>();
    __syncthreads();  // everyone's copies are there, and everyone is done with the stage refilled
    const int ahead = step + Tile::kStages - 1;
    if (ahead < steps) {
      copy_stage<Tile>(args, stages + ahead % Tile::kStages * Tile::kStageBytes,
                       ahead * kGatedDepth);
    }
    commit_copies();
    multiply_stage(stages + step % Tile::kStages * Tile::kStageBytes, part);
  }
  store_part(args, part);
}

const auto kSmall = make_kernel("gated_product_64x32_bf16", &gated_product_kernel<SmallGatedTile>,
                                SmallGatedTile::kSharedBytes);
const auto kMedium = make_kernel("gated_product_64x64_bf16", &gated_product_kernel<MediumGatedTile>,
                                 MediumGatedTile::kSharedBytes);
const auto kLarge = make_kernel("gated_product_128x128_bf16", &gated_product_kernel<LargeGatedTile>,
                                LargeGatedTile::kSharedBytes);

const Kernel<GatedArgs>& kernel_of(GatedTile tile) {
  switch (tile) {
    case GatedTile::k128x128:
      return kLarge;
    case GatedTile::k64x64:
      return kMedium;
    default:
      return kSmall;
  }
}

}  // namespace

std::span<const KernelRow> gated_product_kernels() {
  static const KernelRow kList[] = {kSmall, kMedium, kLarge};
  return kList;
}

const KernelRow& gated_product_kernel(GatedTile tile) {
  return kernel_of(tile);
}

void launch_gated_product(GatedTile tile, std::int64_t rows, std::int64_t columns,
                          std::int64_t depth, const void* x, const void* weight, void* y,
                          const LaunchContext& context) {
  ABBA_CHECK(context.is_bf16() && gated_product_refusal(rows, columns, depth).empty());
  ABBA_CHECK(vector_width(depth, 8, {x, weight, y}) == 8);
  const GatedArgs args{static_cast<const Bf16*>(x), static_cast<const Bf16*>(weight),
                       static_cast<Bf16*>(y),       rows,
                       static_cast<int>(columns),   static_cast<int>(depth)};
  context.launch(kernel_of(tile), gated_product_geometry(tile, rows, columns), args);
}

}  // namespace abba::cuda
