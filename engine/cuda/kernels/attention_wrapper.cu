#include <array>

#include "engine/base/error.h"
#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/kernels/attention_wrapper.h"

namespace abba::cuda {
namespace {

struct GatherArgs {
  const void* from;
  void* to;
  std::int64_t from_stride[4];  // of batch row, row, head, column
  std::int64_t to_stride[3];    // of batch row, row, head; columns lie side by side
  int rows;
  int heads;
  int columns;
};

// Formula: to[b, r, h, c] = from[b, r, h, c], words of 2 or 4 bytes, any strides on either side.
// Mapping: a block copies the columns of one (b, r, h), a thread one of them.
// Bytes: every element read and written once; not for speed, as nobody asks for it in a request.
// Preconditions: at most 64 columns; no overlap. Exactness: copies bits.
template <typename Word>
__global__ void attention_gather_kernel(const GatherArgs args) {
  const auto column = static_cast<int>(threadIdx.x);
  if (column >= args.columns) return;
  const std::int64_t unit = blockIdx.x;
  const std::int64_t head = unit % args.heads;
  const std::int64_t row = unit / args.heads % args.rows;
  const std::int64_t batch = unit / args.heads / args.rows;
  const std::int64_t from = batch * args.from_stride[0] + row * args.from_stride[1] +
                            head * args.from_stride[2] + column * args.from_stride[3];
  const std::int64_t to =
      batch * args.to_stride[0] + row * args.to_stride[1] + head * args.to_stride[2] + column;
  static_cast<Word*>(args.to)[to] = static_cast<const Word*>(args.from)[from];
}

const auto kGather16 = make_kernel("attention_gather_16", &attention_gather_kernel<std::uint16_t>);
const auto kGather32 = make_kernel("attention_gather_32", &attention_gather_kernel<std::uint32_t>);

std::int64_t size_of_act(ops::Precision precision) {
  return precision == ops::Precision::kBf16 ? 2 : 4;
}

std::size_t rounded(std::int64_t size_bytes) {
  return static_cast<std::size_t>(ceil_div(size_bytes, 256) * 256);
}

}  // namespace

bool is_packed(std::span<const StridedHeads> parts, std::int64_t rows, std::int64_t heads,
               ops::Precision precision) {
  const std::int64_t width = heads * ops::kHeadDim;
  const std::int64_t row_stride = width * static_cast<std::int64_t>(parts.size());
  const auto* expected = static_cast<const std::byte*>(parts[0].data);
  if (reinterpret_cast<std::uintptr_t>(expected) % 16 != 0) return false;
  for (const StridedHeads& part : parts) {
    const bool is_in_place = part.data == expected && part.column_stride == 1 &&
                             part.head_stride == ops::kHeadDim && part.row_stride == row_stride &&
                             part.batch_stride == rows * row_stride;
    if (!is_in_place) return false;
    expected += width * size_of_act(precision);
  }
  return true;
}

std::span<const KernelRow> attention_wrapper_kernels() {
  static const std::array<KernelRow, 2> kAll = {kGather16, kGather32};
  return kAll;
}

AttentionWrapper::AttentionWrapper(std::size_t scratch_bytes)
    : scratch_(scratch_bytes, "copies of strided attention inputs") {}

std::size_t AttentionWrapper::scratch_bytes(const ops::AttentionProblem& p,
                                            ops::Precision precision) {
  const std::int64_t values = p.batch * p.length * 3 * p.heads * ops::kHeadDim;
  return rounded(values * size_of_act(precision)) + rounded(p.batch * 4);
}

std::size_t AttentionWrapper::scratch_bytes(const ops::SubsetAttentionProblem& p,
                                            ops::Precision precision) {
  const std::int64_t width = p.heads * ops::kHeadDim;
  const std::int64_t size_bytes = size_of_act(precision);
  return rounded(p.batch * p.queries * width * size_bytes) +
         rounded(p.batch * p.keys * 2 * width * size_bytes) + rounded(p.batch * 4);
}

std::byte* AttentionWrapper::take(std::size_t size_bytes, std::size_t& used) const {
  ABBA_CHECK(used + size_bytes <= scratch_.size_bytes());
  std::byte* place = scratch_.data() + used;
  used += size_bytes;
  return place;
}

const void* AttentionWrapper::packed(std::span<const StridedHeads> parts, const Extents& extents,
                                     const LaunchContext& context, std::size_t& used) {
  const std::int64_t count = extents.batch * extents.rows * extents.heads;
  const bool is_there = is_packed(parts, extents.rows, extents.heads, context.precision());
  if (is_there || count == 0) return parts[0].data;
  const std::int64_t width = extents.heads * ops::kHeadDim;
  const std::int64_t row_stride = width * static_cast<std::int64_t>(parts.size());
  const std::int64_t size_bytes = size_of_act(context.precision());
  std::byte* to = take(rounded(extents.batch * extents.rows * row_stride * size_bytes), used);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const StridedHeads& part = parts[i];
    const GatherArgs args = {
        part.data,
        to + static_cast<std::int64_t>(i) * width * size_bytes,
        {part.batch_stride, part.row_stride, part.head_stride, part.column_stride},
        {extents.rows * row_stride, row_stride, ops::kHeadDim},
        static_cast<int>(extents.rows),
        static_cast<int>(extents.heads),
        static_cast<int>(ops::kHeadDim)};
    context.launch(context.is_bf16() ? kGather16 : kGather32, {{count}, {ops::kHeadDim}}, args);
    ++copies_;
  }
  return to;
}

const std::int32_t* AttentionWrapper::contiguous(const StridedLengths& lengths, std::int64_t batch,
                                                 const LaunchContext& context, std::size_t& used) {
  if (lengths.stride == 1 || batch <= 1) return lengths.data;
  auto* to = reinterpret_cast<std::int32_t*>(take(rounded(batch * 4), used));
  const GatherArgs args = {lengths.data, to, {lengths.stride, 0, 0, 1}, {1, 0, 0}, 1, 1, 1};
  context.launch(kGather32, {{batch}, {32}}, args);
  ++copies_;
  return to;
}

void AttentionWrapper::attend(const ops::AttentionProblem& problem, const StridedHeads& q,
                              const StridedHeads& k, const StridedHeads& v,
                              const StridedLengths& lengths, void* out,
                              const LaunchContext& context) {
  ABBA_CHECK(attention_refusal(problem).empty());
  std::size_t used = 0;
  const StridedHeads parts[] = {q, k, v};
  const void* qkv = packed(parts, {problem.batch, problem.length, problem.heads}, context, used);
  const std::int32_t* counts = contiguous(lengths, problem.batch, context, used);
  launch_attention(problem, qkv, counts, out, context);
}

void AttentionWrapper::attend(const ops::SubsetAttentionProblem& problem, const StridedHeads& q,
                              const StridedHeads& k, const StridedHeads& v,
                              const StridedLengths& lengths, void* out,
                              const LaunchContext& context) {
  ABBA_CHECK(attention_refusal(problem).empty());
  std::size_t used = 0;
  const StridedHeads keys_and_values[] = {k, v};
  const void* queries =
      packed({&q, 1}, {problem.batch, problem.queries, problem.heads}, context, used);
  const void* kv =
      packed(keys_and_values, {problem.batch, problem.keys, problem.heads}, context, used);
  const std::int32_t* counts = contiguous(lengths, problem.batch, context, used);
  launch_attention(problem, queries, kv, counts, out, context);
}

}  // namespace abba::cuda
