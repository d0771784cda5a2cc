// How the rows of a request become batches, and what shapes batches may have. The original puts
// all rows of a request into one batch padded to its longest row; rows do not influence each other,
// so a cut changes no answer. It is made here where a batch would be large, and numbers are rounded
// up, so that a server meets a bounded set of shapes however its requests look.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/checkpoint/config.h"
#include "engine/model/batch.h"

namespace abba::runtime {

inline constexpr std::int64_t kMostBatchTokens = 16384;  // padded, unless one row has more

// Tokens rounded up to a multiple of 16 up to 512, of 64 above, never beyond `most`.
[[nodiscard]] std::int64_t padded_tokens(std::int64_t tokens, std::int64_t most);
// Option slots rounded up to a power of two, at least 2.
[[nodiscard]] std::int64_t padded_options(std::int64_t options);

// The rows of the next batch: the first 1, 2, 3, 4, 8, 16 or 32 of `lengths`, as many as there are
// and as fit kMostBatchTokens. Precondition: `lengths` is not empty.
[[nodiscard]] std::size_t next_batch_rows(std::span<const std::int64_t> lengths,
                                          std::int64_t most_tokens);

// The shape that a batch of these rows is padded to.
[[nodiscard]] model::Shape padded_shape(std::span<const model::Row> rows,
                                        const checkpoint::ModelConfig& config);

}  // namespace abba::runtime
