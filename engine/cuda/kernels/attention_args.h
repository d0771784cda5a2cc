// The one set of arguments that every attention kernel takes, for all queries and for chosen ones
// alike: because both are the same kernel and differ in addresses alone, the rows of the one have
// the bits of the other. Owns nothing; addresses are the device's.
#pragma once

#include <cstdint>

#include "engine/ops/problem.h"

namespace abba::cuda {

// Strides in elements of act. A row's 64 values lie side by side, the heads of q, k and v 64 apart.
struct AttentionArgs {
  const void* q = nullptr;                // of batch row 0, head 0, row 0; k, v, out likewise
  const void* k = nullptr;                //
  const void* v = nullptr;                //
  void* out = nullptr;                    //
  const std::int32_t* lengths = nullptr;  // [B]
  std::int64_t q_batch_stride = 0;
  std::int64_t kv_batch_stride = 0;
  std::int64_t out_batch_stride = 0;
  int q_row_stride = 0;
  int kv_row_stride = 0;
  int out_row_stride = 0;
  int out_head_stride = 0;
  int queries = 0;  // per batch row
  int keys = 0;
  int heads = 0;
  int half_window = -1;
  bool are_queries_keys = false;  // query i is key i: those at and beyond lengths[b] are padding
};

AttentionArgs args_of(const ops::AttentionProblem& problem, ops::Precision precision,
                      const void* qkv, const std::int32_t* lengths, void* out);
AttentionArgs args_of(const ops::SubsetAttentionProblem& problem, ops::Precision precision,
                      const void* q, const void* kv, const std::int32_t* lengths, void* out);

}  // namespace abba::cuda
