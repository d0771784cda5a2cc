// What each operation of the network is, as plain structs of sizes: no data, no backend. A
// backend's method takes one of these plus views; the reference, the work estimates and the tests
// take the same. Every sizes struct is in elements. Notation of the shapes in comments: B rows of a
// batch, L padded tokens per row, M = B*L, D hidden, H heads of kHeadDim, F gated width, R rows
// picked per batch row (token 0 and the markers), K markers per batch row. "act" is the activation
// type: bf16 or fp32.
#pragma once

#include <cstdint>

namespace abba::ops {

inline constexpr std::int64_t kHeadDim = 64;
inline constexpr float kAttentionScale = 0.125F;  // 1 / sqrt(kHeadDim)
inline constexpr float kMaskedLogit = -1e4F;      // logits of slots beyond a row's options
inline constexpr int kActionFeatures = 4;         // top1, margin, entropy, k / 255

// kBf16 is the recipe of the numerics page; kFp32 is everything in fp32, for checking.
enum class Precision { kFp32, kBf16 };

enum class RopeVariant { kRowBlock32, kRowBlock32Div64, kR1H4, kR2H4, kR1H8 };
enum class HeadLastLayer { kAllTokens, kMarkerRows };
enum class AttentionOutput { kHeadMajor, kRowMajor };
enum class BiasVariant { kStridedDiv64, kRows2d, kEpilogue };

// x = LN(table[ids]; gain): fp32 residual [M, D], and the same values as act [M, D].
// ids int32 [M]; the table is read as it is stored. Preconditions: 0 <= ids[i] < vocabulary.
struct EmbedNormProblem {
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  float epsilon = 1e-5F;
};

// y = gain * (x - mean) / sqrt(var + epsilon) [+ bias]; x fp32 [rows, hidden], y act, biased
// variance. As add_norm: x += branch first (branch act [rows, hidden], the sum kept in fp32 in
// place).
struct NormProblem {
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  float epsilon = 1e-5F;
};

// residual fp32 [rows, hidden] += branch act [rows, hidden].
struct AddProblem {
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
};

// Rotates q and k inside qkv act [B, L, 3, H, 64] in place and leaves v's bytes untouched. Pairs
// (d, d + 32); position = index inside the row; two multiplies and one add, never fused, one
// rounding.
struct RopeProblem {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  std::int64_t heads = 0;
  RopeVariant variant = RopeVariant::kR1H4;
};

inline constexpr std::int64_t kFullAttention = -1;

// qkv act [B, L, 3, H, 64], lengths int32 [B] -> act [B, L, H*64] (kRowMajor) or [B, H, L, 64]
// (kHeadMajor). Key j is visible to query i iff j < lengths[b] and, with half_window >= 0,
// |i - j| <= half_window. Queries at i >= lengths[b] give finite values nobody reads.
struct AttentionProblem {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  std::int64_t heads = 0;
  std::int64_t half_window = kFullAttention;
  AttentionOutput layout = AttentionOutput::kRowMajor;
};

// Full attention of `queries` chosen rows per batch row (>= 1; one query is as good as many) over
// all keys: q act [B, R, H, 64], kv act [B, L, 2, H, 64], lengths int32 [B] -> act [B, R, H*64] or
// [B, H, R, 64]. Bitwise equal to the same rows of AttentionProblem on the same q, k, v.
struct SubsetAttentionProblem {
  std::int64_t batch = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;  // L
  std::int64_t heads = 0;
  AttentionOutput layout = AttentionOutput::kRowMajor;
};

// [B, H, rows, 64] -> [B, rows, H*64], act: the separate pass that kHeadMajor needs.
struct TransposeHeadsProblem {
  std::int64_t batch = 0;
  std::int64_t rows = 0;  // per batch row
  std::int64_t heads = 0;
};

// kRelu: relu(product + bias) before the one rounding (relu commutes with it). kGelu: the sum is
// rounded to act, gelu_erf of that rounded again. kGeglu: weight [2N, K], u = product in fp32, y =
// gelu_erf(u[0:N]) * u[N:2N] in fp32, one rounding; takes no bias.
enum class Epilogue { kNone, kRelu, kGelu, kGeglu };

// y[M, N] = epilogue(x[M, K] * weight[N, K]^T + bias[N]); x, y act, fp32 accumulation. has_bias:
// the bias (rounded to act at load) is added to the fp32 accumulator before the one rounding.
struct MatmulProblem {
  std::int64_t rows = 0;     // M
  std::int64_t columns = 0;  // N, after a kGeglu halving
  std::int64_t depth = 0;    // K
  Epilogue epilogue = Epilogue::kNone;
  bool has_bias = false;
};

// y[rows, columns] act, in place: y = act(y + bias), relu of it if asked. The product was rounded
// before: the two roundings of bias = strided_div64 | rows_2d. kEpilogue is not a variant of this
// op.
struct BiasProblem {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool relu = false;
  BiasVariant variant = BiasVariant::kRows2d;
};

// g[rows, columns] act = gelu_erf(u[:, 0:columns]) * u[:, columns:2*columns], u fp32 [rows,
// 2*columns].
struct GegluProblem {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// x fp32 [B*L, D] = h act [B*L, D] + table act [3, D] row types[b]; types int32 [B].
struct TypeEmbeddingProblem {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  std::int64_t hidden = 0;
};

// y[picked, hidden] = x[indices[i], :], same type on both sides; indices int32 [picked], each in
// 0 .. source_rows - 1.
struct GatherProblem {
  std::int64_t picked = 0;
  std::int64_t source_rows = 0;
  std::int64_t hidden = 0;
};

// Inputs: raw logits act [B*K], counts int32 [B] (1 <= counts[b] <= K), first fp32 [B, D] (token
// 0). Outputs: logits fp32 [B, K], kMaskedLogit beyond counts[b]; features act [B, D + 4] = first,
// top1, top1 - top2 (top2 = 0 for one option), -sum p ln(max(p, 1e-9)) / ln(k), k / 255; p =
// softmax over the row's own logits in fp32, k = max(counts[b], 2).
struct ActionFeaturesProblem {
  std::int64_t batch = 0;
  std::int64_t options = 0;  // K
  std::int64_t hidden = 0;
};

}  // namespace abba::ops
