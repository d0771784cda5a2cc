#include "engine/runtime/batching.h"

#include <algorithm>
#include <array>

#include "engine/base/error.h"

namespace abba::runtime {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::int64_t padded_tokens(std::int64_t tokens, std::int64_t most) {
  return std::min(most, round_up(tokens, tokens <= 512 ? 16 : 64));
}

std::int64_t padded_options(std::int64_t options) {
  std::int64_t slots = 2;
  while (slots < options) slots *= 2;
  return slots;
}

std::size_t next_batch_rows(std::span<const std::int64_t> lengths, std::int64_t most_tokens) {
  ABBA_CHECK(!lengths.empty());
  static constexpr std::array<std::size_t, 7> kSizes = {32, 16, 8, 4, 3, 2, 1};
  for (const std::size_t size : kSizes) {
    if (size > lengths.size()) continue;
    const auto rows = lengths.first(size);
    const std::int64_t longest = *std::max_element(rows.begin(), rows.end());
    const std::int64_t padded = padded_tokens(longest, most_tokens);
    if (static_cast<std::int64_t>(size) * padded <= kMostBatchTokens) return size;
  }
  return 1;
}

model::Shape padded_shape(std::span<const model::Row> rows, const checkpoint::ModelConfig& config) {
  model::Shape shape{static_cast<std::int64_t>(rows.size()), 1, 1};
  for (const model::Row& row : rows) {
    shape.tokens = std::max(shape.tokens, static_cast<std::int64_t>(row.ids.size()));
    shape.options = std::max(shape.options, static_cast<std::int64_t>(row.markers.size()));
  }
  shape.tokens = padded_tokens(shape.tokens, config.max_positions);
  // Each option has a token of its own, so the slots never need to be more than the tokens.
  shape.options = std::min(padded_options(shape.options), shape.tokens);
  return shape;
}

}  // namespace abba::runtime
