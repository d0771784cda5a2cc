#include "engine/cpu/kernels.h"

namespace abba::cpu {
namespace {

struct BlockShape {
  std::int64_t rows;
  std::int64_t heads;  // 0: all
};

BlockShape block_shape(ops::RopeVariant variant) {
  switch (variant) {
    case ops::RopeVariant::kR1H4:
      return {1, 4};
    case ops::RopeVariant::kR2H4:
      return {2, 4};
    case ops::RopeVariant::kR1H8:
      return {1, 8};
    default:
      return {32, 0};
  }
}

}  // namespace

std::int64_t rope_block_count(ops::RopeVariant variant, std::int64_t rows, std::int64_t heads) {
  const BlockShape shape = block_shape(variant);
  const std::int64_t row_blocks = (rows + shape.rows - 1) / shape.rows;
  if (shape.heads == 0) return row_blocks;
  return row_blocks * ((2 * heads + shape.heads - 1) / shape.heads);
}

std::int64_t attention_scratch_floats(std::int64_t keys) {
  constexpr std::int64_t kWidestTile = 32;  // two vectors of 16 lanes
  constexpr std::int64_t kMostRows = 12;    // of a tile
  constexpr std::int64_t kGap = 16;         // between rows of scores
  const std::int64_t padded = (keys + kWidestTile - 1) / kWidestTile * kWidestTile;
  return padded * 2 * ops::kHeadDim + (padded + kGap) * kMostRows + 2 * kMostRows * ops::kHeadDim;
}

}  // namespace abba::cpu
