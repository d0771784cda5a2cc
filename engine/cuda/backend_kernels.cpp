// Which kernels a network needs, asked for when a shape is planned: each is loaded once, or found
// unavailable once. A level whose kernel cannot be loaded is replaced by its factor's fallback and
// said so; a kernel without a substitute makes the shape impossible.
#include <string>

#include "engine/base/error.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/kernels/action_features.h"
#include "engine/cuda/kernels/add.h"
#include "engine/cuda/kernels/bias.h"
#include "engine/cuda/kernels/embed_norm.h"
#include "engine/cuda/kernels/gather_rows.h"
#include "engine/cuda/kernels/geglu.h"
#include "engine/cuda/kernels/layer_norm.h"
#include "engine/cuda/kernels/plain_product.h"
#include "engine/cuda/kernels/rope.h"
#include "engine/cuda/kernels/transpose_heads.h"
#include "engine/cuda/kernels/type_embedding.h"

namespace abba::cuda {
namespace {

constexpr AttentionTile kTiles[] = {AttentionTile::kRows16, AttentionTile::kRows64,
                                    AttentionTile::kRows128};

// Kernels are named after what they read and write; a name that ends in a precision is of that one.
bool is_of(const KernelRow& kernel, ops::Precision precision) {
  const bool is_bf16 = precision == ops::Precision::kBf16;
  return !kernel.name.ends_with(is_bf16 ? "_fp32" : "_bf16");
}

void add_sentence(std::string* note, const std::string& sentence) {
  if (note == nullptr) return;
  if (!note->empty()) *note += ' ';
  *note += sentence;
}

}  // namespace

void CudaBackend::require_kernels(std::span<const KernelRow> rows) {
  for (const KernelRow& row : rows) {
    if (!is_of(row, settings_.precision) || kernels_.is_available(row)) continue;
    throw base::Error(
        base::ErrorCode::kPreflight, device_.name,
        "cannot load the kernel " + std::string(row.name) + ": " + kernels_.reason(row));
  }
}

ops::Choices CudaBackend::runnable_choices(const ops::Extent& extent, std::string* note) {
  ops::Choices runnable = ops::effective_choices(settings_.choices, extent, note);
  for (const auto& rows : {embed_norm_kernels(), layer_norm_kernels(), add_kernels(),
                           geglu_kernels(), plain_product_kernels(), type_embedding_kernels(),
                           gather_rows_kernels(), action_features_kernels()}) {
    require_kernels(rows);
  }
  if (runnable.attention_output == ops::AttentionOutput::kHeadMajor) {
    require_kernels(transpose_heads_kernels());
  }
  choose_rope(runnable, note);
  choose_bias(runnable, note);
  return runnable;
}

void CudaBackend::choose_rope(ops::Choices& runnable, std::string* note) {
  const KernelRow& asked = rope_kernel_of(runnable.rope, settings_.precision);
  if (kernels_.is_available(asked)) return;
  add_sentence(note, "rope: " + std::string(ops::level_of(runnable, "rope")) + " is unavailable (" +
                         kernels_.reason(asked) + ") and fell back to row_block_32_div64.");
  runnable.rope = ops::RopeVariant::kRowBlock32Div64;
  require_kernels({&rope_kernel_of(runnable.rope, settings_.precision), 1});
}

void CudaBackend::choose_bias(ops::Choices& runnable, std::string* note) {
  if (runnable.bias == ops::BiasVariant::kEpilogue) return;
  const KernelRow& asked = bias_kernel_of(runnable.bias, settings_.precision);
  if (kernels_.is_available(asked)) return;
  add_sentence(note, "bias: " + std::string(ops::level_of(runnable, "bias")) + " is unavailable (" +
                         kernels_.reason(asked) + ") and fell back to strided_div64.");
  runnable.bias = ops::BiasVariant::kStridedDiv64;
  require_kernels({&bias_kernel_of(runnable.bias, settings_.precision), 1});
}

// The best tile for the shape, or where its kernel cannot be loaded any other: a row's bits are the
// same under all.
void CudaBackend::plan_tile(const AttentionExtent& extent) {
  const AttentionTile best = best_attention_tile(extent);
  if (kernels_.is_available(attention_kernel(best, settings_.precision))) return;
  for (const AttentionTile tile : kTiles) {
    if (!kernels_.is_available(attention_kernel(tile, settings_.precision))) continue;
    tile_instead_[static_cast<std::size_t>(best)] = tile;
    return;
  }
  require_kernels({&attention_kernel(best, settings_.precision), 1});
}

AttentionTile CudaBackend::tile_for(const AttentionExtent& extent) const {
  return tile_instead_[static_cast<std::size_t>(best_attention_tile(extent))];
}

void CudaBackend::plan_attention(const ops::AttentionProblem& problem) {
  check_attention(attention_refusal(problem));
  plan_tile(extent_of(problem));
}

void CudaBackend::plan_attention(const ops::SubsetAttentionProblem& problem) {
  check_attention(attention_refusal(problem));
  plan_tile(extent_of(problem));
}

void CudaBackend::check_attention(std::string_view refusal) const {
  if (refusal.empty()) return;
  throw base::Error(base::ErrorCode::kBadInput, "attention on " + device_.name,
                    std::string(refusal));
}

}  // namespace abba::cuda
