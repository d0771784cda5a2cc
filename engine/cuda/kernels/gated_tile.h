// How a block of the gated product is cut into warps, and what that takes of shared memory: sizes
// alone, for the kernel and for its geometry.
#pragma once

#include <cstddef>

namespace abba::cuda {

inline constexpr int kGatedDepth = 64;                  // of a stage
inline constexpr int kGatedRowBytes = 2 * kGatedDepth;  // of a row of a stage, bf16

// A warp computes kTilesDown x 16 rows and kTilesAcross x 8 columns of y, of both halves of the
// weight; kTilesAcross is even. kStages steps of depth are in shared memory, the rows of x first,
// then the columns' rows of the first half of the weight, then of the second.
template <int kTilesDown_, int kTilesAcross_, int kWarpsDown_, int kWarpsAcross_, int kStages_>
struct GatedTileOf {
  static constexpr int kTilesDown = kTilesDown_;
  static constexpr int kTilesAcross = kTilesAcross_;
  static constexpr int kWarpsDown = kWarpsDown_;
  static constexpr int kStages = kStages_;
  static constexpr int kRows = 16 * kTilesDown_ * kWarpsDown_;
  static constexpr int kColumns = 8 * kTilesAcross_ * kWarpsAcross_;
  static constexpr int kThreads = 32 * kWarpsDown_ * kWarpsAcross_;
  static constexpr int kStageBytes = (kRows + 2 * kColumns) * kGatedRowBytes;
  static constexpr std::size_t kSharedBytes = static_cast<std::size_t>(kStages_) * kStageBytes;
  static_assert(kTilesAcross_ % 2 == 0);
};

using SmallGatedTile = GatedTileOf<2, 2, 2, 2, 6>;   // 64 x 32, 96 KiB
using MediumGatedTile = GatedTileOf<2, 4, 2, 2, 4>;  // 64 x 64, 96 KiB
using LargeGatedTile = GatedTileOf<4, 4, 2, 4, 4>;   // 128 x 128, 192 KiB

}  // namespace abba::cuda
