// What the attention tests share: one backend's attention on host buffers, the reference's rows,
// and q, k, v taken apart. Shapes as in engine/ops/problem.h; outputs are always [B * rows, H * 64]
// here, head-major ones rearranged on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/device/device.h"

namespace abba::device {

using Lengths = std::vector<std::int32_t>;

// All keys, then fewer, then a third; from the fourth row on again.
Lengths ragged_lengths(std::int64_t batch, std::int64_t length);
// [B, H, rows, 64] -> [B, rows, H*64], bits untouched.
Buffer by_row(const Buffer& by_head, std::int64_t batch, std::int64_t rows, std::int64_t heads);
// Rows [first, first + count) of a buffer of two axes.
Buffer rows_of(const Buffer& buffer, std::int64_t first, std::int64_t count);

// The chosen rows of qkv [B*L, 3*H*64] as q [B*R, H*64], and its k and v as kv [B*L, 2*H*64].
// `rows` are positions in [0, L), R a batch row.
Buffer queries_of(const Buffer& qkv, std::int64_t batch, const std::vector<std::int64_t>& rows);
Buffer keys_and_values_of(const Buffer& qkv);

// Values of padding queries made zero where they are finite, so that they meet the reference.
Values real_rows(Values values, const ops::AttentionProblem& problem, const Lengths& lengths);

// Attention by an explicit mask, [B, queries, keys] in index order; q, k, v as values of the
// subset problem. In double, and written apart from engine/ops/reference.
Values attention_by_mask(const ops::SubsetAttentionProblem& problem, const Values& q,
                         const Values& kv, const std::vector<bool>& mask);

class AttentionWay : public EveryWay {
 protected:
  Buffer attend(const ops::AttentionProblem& problem, const Buffer& qkv, const Lengths& lengths);
  Buffer attend(const ops::SubsetAttentionProblem& problem, const Buffer& q, const Buffer& kv,
                const Lengths& lengths);
  // bf16: weights and output rounded; the rounding of a weight is relative to what it weighs.
  [[nodiscard]] double relative() const { return is_bf16() ? 0.004 : 1e-5; }
  [[nodiscard]] double absolute() const { return is_bf16() ? 0.004 : 1e-5; }
  [[nodiscard]] double error(const Buffer& computed, const ops::AttentionProblem& problem,
                             const Buffer& qkv, const Lengths& lengths, double more = 0.0) const;
  static void set(Buffer& buffer, std::int64_t row, std::int64_t column, float value);
};

}  // namespace abba::device
