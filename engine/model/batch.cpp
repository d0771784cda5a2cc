#include "engine/model/batch.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "engine/base/error.h"

namespace abba::model {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& sentence) {
  throw base::Error(base::ErrorCode::kBadInput, where, sentence);
}

std::string row_name(std::int64_t row) {
  return "row " + std::to_string(row);
}

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

void check_range(std::int64_t value, std::int64_t low, std::int64_t high, std::int64_t row,
                 const char* what) {
  if (value >= low && value <= high) return;
  refuse(row_name(row), std::string(what) + " is " + std::to_string(value) + "; it must be " +
                            std::to_string(low) + " to " + std::to_string(high));
}

void check_sizes(const Batch& batch) {
  const auto rows = at(batch.shape.rows);
  const auto tokens = rows * at(batch.shape.tokens);
  const auto slots = rows * at(batch.shape.options);
  if (batch.ids.size() == tokens && batch.lengths.size() == rows && batch.types.size() == rows &&
      batch.markers.size() == slots && batch.counts.size() == rows) {
    return;
  }
  refuse("batch", "has arrays whose sizes do not fit its shape; build it with make_batch");
}

void check_ids(const Batch& batch, std::int64_t row, std::int64_t vocabulary) {
  const std::int32_t* ids = &batch.ids[at(row * batch.shape.tokens)];
  for (std::int64_t i = 0; i < batch.shape.tokens; ++i) {
    if (ids[i] >= 0 && ids[i] < vocabulary) continue;
    refuse(row_name(row), "has token id " + std::to_string(ids[i]) + " at position " +
                              std::to_string(i) + "; the vocabulary has ids 0 to " +
                              std::to_string(vocabulary - 1));
  }
}

void check_markers(const Batch& batch, std::int64_t row) {
  const std::int32_t* markers = &batch.markers[at(row * batch.shape.options)];
  const std::int32_t length = batch.lengths[at(row)];
  for (std::int64_t k = 0; k < batch.shape.options; ++k) {
    const bool in_use = k < batch.counts[at(row)];
    if (in_use ? markers[k] >= 0 && markers[k] < length : markers[k] == 0) continue;
    refuse(row_name(row),
           "has marker " + std::to_string(k) + " at position " + std::to_string(markers[k]) +
               (in_use ? "; the row has " + std::to_string(length) + " tokens"
                       : std::string("; slots beyond the row's markers must hold position 0")));
  }
}

}  // namespace

Batch make_batch(std::span<const Row> rows, std::int64_t pad_id, const Shape& at_least) {
  if (rows.empty()) refuse("batch", "has no rows; give at least one");
  Batch batch;
  batch.shape = {std::max<std::int64_t>(at_least.rows, static_cast<std::int64_t>(rows.size())),
                 at_least.tokens, std::max<std::int64_t>(at_least.options, 1)};
  if (batch.shape.rows != static_cast<std::int64_t>(rows.size())) {
    refuse("batch", "has fewer rows than the shape asked for; rows are never invented");
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].ids.empty()) refuse(row_name(static_cast<std::int64_t>(r)), "has no tokens");
    batch.shape.tokens =
        std::max(batch.shape.tokens, static_cast<std::int64_t>(rows[r].ids.size()));
    batch.shape.options =
        std::max(batch.shape.options, static_cast<std::int64_t>(rows[r].markers.size()));
  }
  // Before the padding is made: a length read from a file must neither overflow nor fill memory.
  if (batch.shape.tokens > kMaxBatchTokens / batch.shape.rows ||
      batch.shape.options > kMaxBatchTokens / batch.shape.rows) {
    refuse("batch", "would have more than " + std::to_string(kMaxBatchTokens) +
                        " padded tokens or marker slots; split it");
  }
  batch.ids.assign(rows.size() * at(batch.shape.tokens), static_cast<std::int32_t>(pad_id));
  batch.markers.assign(rows.size() * at(batch.shape.options), 0);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Row& row = rows[r];
    std::copy(row.ids.begin(), row.ids.end(), &batch.ids[r * at(batch.shape.tokens)]);
    std::copy(row.markers.begin(), row.markers.end(), &batch.markers[r * at(batch.shape.options)]);
    batch.lengths.push_back(static_cast<std::int32_t>(row.ids.size()));
    batch.types.push_back(row.type);
    batch.counts.push_back(static_cast<std::int32_t>(row.markers.size()));
  }
  return batch;
}

void check_shape(const Shape& shape, const checkpoint::ModelConfig& config) {
  if (shape.rows < 1 || shape.tokens < 1 || shape.options < 1) {
    refuse("shape", "has " + std::to_string(shape.rows) + " rows, " + std::to_string(shape.tokens) +
                        " tokens and " + std::to_string(shape.options) +
                        " options; each must be at least 1");
  }
  if (shape.tokens > config.max_positions) {
    refuse("shape", "has rows of " + std::to_string(shape.tokens) +
                        " tokens; the model takes at most " + std::to_string(config.max_positions));
  }
  if (shape.rows > kMaxBatchTokens / shape.tokens) {
    refuse("shape",
           "has more than " + std::to_string(kMaxBatchTokens) + " padded tokens; split the batch");
  }
  if (shape.options > shape.tokens) {
    refuse("shape", "has more options than tokens; each option needs a marker token");
  }
}

void check_batch(const Batch& batch, const checkpoint::ModelConfig& config) {
  check_shape(batch.shape, config);
  check_sizes(batch);
  for (std::int64_t row = 0; row < batch.shape.rows; ++row) {
    check_range(batch.lengths[at(row)], 1, batch.shape.tokens, row, "the length");
    check_range(batch.types[at(row)], 0, 2, row, "the question type");
    check_range(batch.counts[at(row)], 1, batch.shape.options, row, "the number of markers");
    check_ids(batch, row, config.vocab_size);
    check_markers(batch, row);
  }
}

}  // namespace abba::model
