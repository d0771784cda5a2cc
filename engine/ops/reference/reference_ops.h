// Every operation once more, slowly, in double precision, written from the model's definition and
// not from any backend: sums run in index order, softmax and GELU use libm, nothing is blocked.
// What a backend computes is judged against these. Rows are contiguous; shapes as in
// engine/ops/problem.h. Nothing here is fit for a request: vectors are returned by value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/ops/problem.h"

namespace abba::ops::reference {

using Values = std::vector<double>;

// Rounding to bf16 (through float32) of a value or of all values.
double round_bf16(double value);
Values round_bf16(Values values);

double gelu(double x);  // x/2 * (1 + erf(x / sqrt 2))

// [rows, hidden]; an empty bias means none.
Values layer_norm(const NormProblem& problem, const Values& x, const Values& gain,
                  const Values& bias);

// table [V, D] -> LN(table[ids]) [rows, D].
Values embed_norm(const EmbedNormProblem& problem, std::span<const float> table, const Values& gain,
                  std::span<const std::int32_t> ids);

// What cos and sin are made from: positions and frequencies in float32 as the model's authors do,
// so that this reference and a backend differ by the functions' rounding alone.
double rope_angle(float theta, std::int64_t position, std::int64_t pair);
// q and k of [B, L, 3, H, 64] rotated; round_table rounds cos and sin to bf16 first.
void rope(const RopeProblem& problem, float theta, bool round_table, Values& qkv);

// Ignores problem.layout: always [B, L, H*64] / [B, R, H*64]. Rows at i >= lengths[b] are zero.
Values attention(const AttentionProblem& problem, const Values& qkv,
                 std::span<const std::int32_t> lengths);
Values attention(const SubsetAttentionProblem& problem, const Values& q, const Values& kv,
                 std::span<const std::int32_t> lengths);

// [B, H, rows, 64] -> [B, rows, H*64].
Values transpose_heads(const TransposeHeadsProblem& problem, const Values& by_head);

// x [M, K], weight [N, K] ([2N, K] for kGeglu), bias empty or [N]. The epilogue is unrounded.
Values matmul(const MatmulProblem& problem, const Values& x, std::span<const float> weight,
              const Values& bias);

void add_bias(const BiasProblem& problem, const Values& bias, Values& y);
Values geglu(const GegluProblem& problem, const Values& u);

// h [B*L, D], table [3, D].
Values type_embedding(const TypeEmbeddingProblem& problem, const Values& h, const Values& table,
                      std::span<const std::int32_t> types);
Values gather_rows(const GatherProblem& problem, const Values& x,
                   std::span<const std::int32_t> indices);

struct ActionInput {
  Values logits;    // [B, K], kMaskedLogit beyond a row's options
  Values features;  // [B, D + 4]
};
// raw_logits [B, K], first [B, D].
ActionInput action_features(const ActionFeaturesProblem& problem, const Values& raw_logits,
                            std::span<const std::int32_t> counts, const Values& first);

}  // namespace abba::ops::reference
