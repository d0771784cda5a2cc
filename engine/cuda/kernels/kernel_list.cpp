#include "engine/cuda/kernels/kernel_list.h"

#include <span>

#include "engine/cuda/kernels/action_features.h"
#include "engine/cuda/kernels/add.h"
#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/kernels/attention_wrapper.h"
#include "engine/cuda/kernels/bias.h"
#include "engine/cuda/kernels/cache_walk.h"
#include "engine/cuda/kernels/embed_norm.h"
#include "engine/cuda/kernels/gated_product.h"
#include "engine/cuda/kernels/gather_rows.h"
#include "engine/cuda/kernels/geglu.h"
#include "engine/cuda/kernels/layer_norm.h"
#include "engine/cuda/kernels/plain_product.h"
#include "engine/cuda/kernels/rope.h"
#include "engine/cuda/kernels/spin.h"
#include "engine/cuda/kernels/strided_bias.h"
#include "engine/cuda/kernels/transpose_heads.h"
#include "engine/cuda/kernels/type_embedding.h"

namespace abba::cuda {
namespace {

void append(std::vector<KernelRow>& all, std::span<const KernelRow> rows) {
  all.insert(all.end(), rows.begin(), rows.end());
}

}  // namespace

std::vector<KernelRow> all_kernels() {
  std::vector<KernelRow> all;
  append(all, action_features_kernels());
  append(all, add_kernels());
  append(all, attention_kernels());
  append(all, attention_wrapper_kernels());
  append(all, bias_kernels());
  append(all, cache_walk_kernels());
  append(all, embed_norm_kernels());
  append(all, gated_product_kernels());
  append(all, gather_rows_kernels());
  append(all, geglu_kernels());
  append(all, layer_norm_kernels());
  append(all, plain_product_kernels());
  append(all, rope_kernels());
  append(all, spin_kernels());
  append(all, strided_bias_kernels());
  append(all, transpose_heads_kernels());
  append(all, type_embedding_kernels());
  return all;
}

}  // namespace abba::cuda
