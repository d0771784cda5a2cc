// A batch of token rows as the network takes it, and the checks that make it safe: everything that
// indexes memory (ids, lengths, types, markers) is judged here, once, before any kernel sees it.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/checkpoint/config.h"

namespace abba::model {

// What a launch plan is made for.
struct Shape {
  std::int64_t rows = 0;     // B
  std::int64_t tokens = 0;   // L, padded
  std::int64_t options = 0;  // K, slots for markers in each row
  friend auto operator<=>(const Shape&, const Shape&) = default;
};

inline constexpr std::int64_t kMaxBatchTokens = std::int64_t{1} << 20U;  // rows * tokens of a batch

// One row: [CLS] question [SEP] [MASK] option ... [SEP] state [SEP].
struct Row {
  std::vector<std::int32_t> ids;
  std::int32_t type = 0;              // 0 choice, 1 score, 2 noul
  std::vector<std::int32_t> markers;  // positions of the [MASK] before each option, at least one
};

// Rows padded to one length, markers padded with position 0. Plain data; make_batch fills it.
struct Batch {
  Shape shape;
  std::vector<std::int32_t> ids;      // [B, L]
  std::vector<std::int32_t> lengths;  // [B], 1..L real tokens
  std::vector<std::int32_t> types;    // [B], 0..2
  std::vector<std::int32_t> markers;  // [B, K]
  std::vector<std::int32_t> counts;   // [B], 1..K markers in use
};

// Pads to the longest row and the most markers, or to `at_least` where that is larger. Throws
// Error(kBadInput) for no rows, an empty row or a padded size beyond kMaxBatchTokens; the rest is
// check_batch's.
Batch make_batch(std::span<const Row> rows, std::int64_t pad_id, const Shape& at_least = {});

// Throw Error(kBadInput) with one sentence that names row and position of the first mistake. A
// batch that passes allocates nothing here.
void check_shape(const Shape& shape, const checkpoint::ModelConfig& config);
void check_batch(const Batch& batch, const checkpoint::ModelConfig& config);

}  // namespace abba::model
