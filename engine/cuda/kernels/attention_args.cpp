#include "engine/cuda/kernels/attention_args.h"

#include <cstddef>

namespace abba::cuda {
namespace {

const void* advance(const void* from, std::int64_t elements, ops::Precision precision) {
  const std::int64_t size_bytes = precision == ops::Precision::kBf16 ? 2 : 4;
  return static_cast<const std::byte*>(from) + elements * size_bytes;
}

// [B, rows, H*64] or [B, H, rows, 64].
void set_output(AttentionArgs& args, ops::AttentionOutput layout, void* out) {
  const bool is_row_major = layout == ops::AttentionOutput::kRowMajor;
  const auto head = static_cast<int>(ops::kHeadDim);
  args.out = out;
  args.out_batch_stride = std::int64_t{args.queries} * args.heads * head;
  args.out_row_stride = is_row_major ? args.heads * head : head;
  args.out_head_stride = is_row_major ? head : args.queries * head;
}

}  // namespace

AttentionArgs args_of(const ops::AttentionProblem& problem, ops::Precision precision,
                      const void* qkv, const std::int32_t* lengths, void* out) {
  const std::int64_t hidden = problem.heads * ops::kHeadDim;
  AttentionArgs args;
  args.q = qkv;
  args.k = advance(qkv, hidden, precision);
  args.v = advance(qkv, 2 * hidden, precision);
  args.lengths = lengths;
  args.q_batch_stride = args.kv_batch_stride = problem.length * 3 * hidden;
  args.q_row_stride = args.kv_row_stride = static_cast<int>(3 * hidden);
  args.queries = args.keys = static_cast<int>(problem.length);
  args.heads = static_cast<int>(problem.heads);
  const bool is_full = problem.half_window < 0 || problem.half_window >= problem.length;
  args.half_window = is_full ? -1 : static_cast<int>(problem.half_window);
  args.are_queries_keys = true;
  set_output(args, problem.layout, out);
  return args;
}

AttentionArgs args_of(const ops::SubsetAttentionProblem& problem, ops::Precision precision,
                      const void* q, const void* kv, const std::int32_t* lengths, void* out) {
  const std::int64_t hidden = problem.heads * ops::kHeadDim;
  AttentionArgs args;
  args.q = q;
  args.k = kv;
  args.v = advance(kv, hidden, precision);
  args.lengths = lengths;
  args.q_batch_stride = problem.queries * hidden;
  args.kv_batch_stride = problem.keys * 2 * hidden;
  args.q_row_stride = static_cast<int>(hidden);
  args.kv_row_stride = static_cast<int>(2 * hidden);
  args.queries = static_cast<int>(problem.queries);
  args.keys = static_cast<int>(problem.keys);
  args.heads = static_cast<int>(problem.heads);
  set_output(args, problem.layout, out);
  return args;
}

}  // namespace abba::cuda
