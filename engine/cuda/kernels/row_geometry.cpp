#include "engine/cuda/kernels/row_geometry.h"

#include <algorithm>
#include <limits>

#include "engine/base/error.h"
#include "engine/ops/variant.h"

namespace abba::cuda {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kRowThreads = 384;  // most threads of a block that takes a part of a row

std::int64_t whole_warps(std::int64_t threads) {
  return ceil_div(threads, kWarp) * kWarp;
}

// Whether rows * columns is more than `limit`, without computing it.
bool product_exceeds(std::int64_t rows, std::int64_t columns, std::int64_t limit) {
  return rows > 0 && columns > limit / rows;
}

// Rows and heads a block of the level takes; heads 0 means all.
struct RopeBlock {
  std::int64_t rows;
  std::int64_t heads;
};
RopeBlock rope_block(ops::RopeVariant variant) {
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

int vector_width(std::int64_t columns, int wanted, std::initializer_list<const void*> pointers) {
  if (columns % wanted != 0) return 1;
  for (const void* pointer : pointers) {
    if (reinterpret_cast<std::uintptr_t>(pointer) % kVectorBytes != 0) return 1;
  }
  return wanted;
}

std::string_view norm_refusal(std::int64_t rows, std::int64_t hidden) {
  if (rows < 0 || hidden <= 0) return "a norm needs a positive hidden size and rows >= 0";
  if (hidden > kMostHidden) {
    return "the norm kernels keep a row in the registers of one block: the hidden size is at most "
           "8192";
  }
  if (rows > kMostGridX) return "a grid has at most 2^31 - 1 blocks, one a row";
  return {};
}

Geometry norm_geometry(std::int64_t rows, std::int64_t hidden) {
  return {{rows, 1, 1}, {whole_warps(ceil_div(hidden, kNormColumns)), 1, 1}};
}

std::string_view row_refusal(std::int64_t rows, std::int64_t columns) {
  if (rows < 0 || columns <= 0) return "a row-wise kernel needs columns > 0 and rows >= 0";
  if (rows > kMostGridX) return "a grid has at most 2^31 - 1 blocks, one a row";
  if (columns > kMostGridYz * kRowThreads) return "a row has more parts than a grid takes";
  return {};
}

Geometry row_geometry(std::int64_t rows, std::int64_t units) {
  const std::int64_t parts = ceil_div(units, kRowThreads);
  return {{rows, parts, 1}, {whole_warps(ceil_div(units, parts)), 1, 1}};
}

std::string_view flat_refusal(std::int64_t count) {
  if (count < 0) return "a number of elements is not negative";
  if (count > kMostGridX * kFlatThreads)
    return "a grid has at most 2^31 - 1 blocks of 128 elements";
  return {};
}

Geometry flat_geometry(std::int64_t count, std::int64_t width, std::int64_t threads) {
  return {{ceil_div(count, width * threads), 1, 1}, {threads, 1, 1}};
}

std::string_view rope_refusal(const ops::RopeProblem& p) {
  if (p.batch < 0 || p.length < 0 || p.heads < 0) return "sizes of rope are not negative";
  if (product_exceeds(p.batch, p.length, kMostGridX)) {
    return "a grid has at most 2^31 - 1 blocks, one a row";
  }
  if (p.heads > kMostGridYz) return "a grid has at most 65535 blocks of heads";
  const auto level = static_cast<std::size_t>(p.variant);
  return ops::variant_table("rope").variants[level].refusal({p.batch, p.length, p.heads, 0});
}

Geometry rope_geometry(const ops::RopeProblem& p) {
  const std::int64_t rows = p.batch * p.length;
  const std::int64_t heads = 2 * p.heads;  // q's, then k's
  const RopeBlock block = rope_block(p.variant);
  if (rows == 0 || heads == 0) return {{0, 1, 1}, {kRopeThreads, 1, 1}};
  if (block.heads == 0) return {{ceil_div(rows, block.rows), 1, 1}, {kRopeThreads, 1, 1}};
  const std::int64_t per_head = ops::kHeadDim / 2 / kRopeWidth;
  return {{ceil_div(rows, block.rows), ceil_div(heads, block.heads), 1},
          {block.heads * per_head, block.rows, 1}};
}

std::string_view bias_refusal(const ops::BiasProblem& p) {
  if (p.variant == ops::BiasVariant::kStridedDiv64) {
    if (p.rows < 0 || p.columns <= 0) return "a bias needs columns > 0 and rows >= 0";
    const std::int64_t most = kMostGridX * kDivisionThreads;
    return product_exceeds(p.rows, p.columns, most)
               ? "a grid has at most 2^31 - 1 blocks of 256 elements"
               : std::string_view{};
  }
  if (product_exceeds(p.rows, p.columns, std::numeric_limits<std::uint32_t>::max())) {
    return "the biased output exceeds 2^32 - 1 elements, which 32-bit indices cannot address";
  }
  return row_refusal(p.rows, p.columns);
}

}  // namespace abba::cuda
