// Launch geometry of the row-wise kernels, and which sizes they refuse: pure functions of sizes,
// tested without a GPU. A refusal is empty if the size is supported, else one sentence, as in
// engine/ops/variant.h; a launcher checks it (ABBA_CHECK). All kernels index with 64 bits except
// the levels whose point is 32-bit indices; those refuse beyond 2^32 - 1 elements and the model
// then takes the factor's 64-bit level (ops::effective_choices).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "engine/cuda/geometry.h"
#include "engine/ops/problem.h"

namespace abba::cuda {

inline constexpr std::int64_t kVectorBytes = 16;       // alignment a vector asks for
inline constexpr std::int64_t kNormColumns = 8;        // of a thread of a norm, two quads
inline constexpr std::int64_t kMostHidden = 8192;      // kNormColumns * kMostThreads
inline constexpr std::int64_t kFlatThreads = 128;      // of a block over flat elements
inline constexpr std::int64_t kDivisionThreads = 256;  // of a block of bias = strided_div64
inline constexpr std::int64_t kRopeThreads = 128;      // of a block of the two row_block_32 levels
inline constexpr std::int64_t kRopeWidth = 4;          // pairs a thread rotates at a time

// `wanted` where rows of `columns` elements can be cut into vectors of that many and every pointer
// is a multiple of kVectorBytes, else 1. Wanted are 8 where all data are bf16, 4 where some are
// fp32: a warp then reads and writes both without gaps.
int vector_width(std::int64_t columns, int wanted, std::initializer_list<const void*> pointers);

// Norms: one block a row, 8 columns a thread, whole warps. Grid x = rows. The reduction tree
// depends on `hidden` alone, so a row has the same bits whatever other rows there are.
std::string_view norm_refusal(std::int64_t rows, std::int64_t hidden);
Geometry norm_geometry(std::int64_t rows, std::int64_t hidden);

// Rows of `units` things one thread each: grid x = rows, grid y = parts of a row, at most 384
// threads a block and whole warps.
std::string_view row_refusal(std::int64_t rows, std::int64_t columns);
Geometry row_geometry(std::int64_t rows, std::int64_t units);

// `count` elements, `width` a thread, `threads` a block.
std::string_view flat_refusal(std::int64_t count);
Geometry flat_geometry(std::int64_t count, std::int64_t width, std::int64_t threads);

// rope: see the kernel for what a block takes under each level.
std::string_view rope_refusal(const ops::RopeProblem& problem);
Geometry rope_geometry(const ops::RopeProblem& problem);

std::string_view bias_refusal(const ops::BiasProblem& problem);

}  // namespace abba::cuda
