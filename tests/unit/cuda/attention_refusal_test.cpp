// What the attention launchers refuse, at every limit and one on either side of it; and what their
// wrapper takes in place. No GPU: addresses are only looked at.
#include <gtest/gtest.h>

#include <vector>

#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/kernels/attention_args.h"
#include "engine/cuda/kernels/attention_wrapper.h"

namespace abba::cuda {
namespace {

using ops::AttentionProblem;
using ops::Precision;
using ops::SubsetAttentionProblem;
using tensor::ConstView;
using tensor::DType;
using tensor::Shape;
using tensor::View;

TEST(AttentionRefusal, sizes_at_the_limits) {
  EXPECT_EQ(attention_refusal(AttentionProblem{1, 8192, 2}), "");
  EXPECT_NE(attention_refusal(AttentionProblem{1, 8193, 2}), "");
  EXPECT_EQ(attention_refusal(AttentionProblem{1, 1, 64}), "");
  EXPECT_NE(attention_refusal(AttentionProblem{1, 1, 65}), "");
  EXPECT_NE(attention_refusal(AttentionProblem{-1, 1, 1}), "");
  EXPECT_EQ(attention_refusal(SubsetAttentionProblem{1, 8192, 8192, 1}), "");
  EXPECT_NE(attention_refusal(SubsetAttentionProblem{1, 8193, 8192, 1}), "");
  EXPECT_NE(attention_refusal(SubsetAttentionProblem{1, 1, 8193, 1}), "");
  EXPECT_EQ(attention_refusal(SubsetAttentionProblem{1, 1, 1, 64}), "");
  EXPECT_NE(attention_refusal(SubsetAttentionProblem{1, 1, 1, 65}), "");
}

// 2^32 - 1 is no multiple of 64: the limits are the nearest counts there are on either side, which
// are 2^32 - 64 or less, and 2^32 itself where the factors make it.
TEST(AttentionRefusal, element_counts_at_two_to_the_32) {
  const std::int64_t rows = kMostElements / 192;  // of qkv with one head
  EXPECT_EQ(attention_refusal(AttentionProblem{rows, 1, 1}), "");
  EXPECT_NE(attention_refusal(AttentionProblem{rows + 1, 1, 1}), "");
  EXPECT_EQ(attention_refusal(SubsetAttentionProblem{(1LL << 25) - 1, 1, 1, 1}), "");  // 2^32 - 128
  EXPECT_NE(attention_refusal(SubsetAttentionProblem{1LL << 25, 1, 1, 1}), "");        // kv: 2^32
  EXPECT_EQ(attention_refusal(SubsetAttentionProblem{(1LL << 24) - 1, 4, 1, 1}), "");  // q
  EXPECT_NE(attention_refusal(SubsetAttentionProblem{1LL << 24, 4, 1, 1}), "");
  EXPECT_NE(attention_refusal(AttentionProblem{INT64_MAX, 8192, 64}), "");  // would overflow
  EXPECT_EQ(attention_refusal(AttentionProblem{INT64_MAX, 8192, 0}), "");   // empty
}

class Memory : public testing::Test {
 protected:
  // [2, 5, 3, 2, 64] bf16, lengths [2]
  AttentionProblem problem_{2, 5, 2};
  SubsetAttentionProblem subset_{2, 1, 5, 2};
  alignas(16) std::byte input_[2 * 5 * 3 * 128 * 2 + 32] = {};
  alignas(16) std::byte output_[2 * 5 * 128 * 2 + 32] = {};
  std::int32_t lengths_[8] = {};
  ConstView qkv_{input_, DType::kBf16, Shape{10, 384}};
  ConstView q_{output_, DType::kBf16, Shape{2, 128}};
  ConstView kv_{input_, DType::kBf16, Shape{10, 256}};
  ConstView counts_{lengths_, DType::kI32, Shape{2}};
  View out_{output_, DType::kBf16, Shape{10, 128}};
  View some_{output_ + 512, DType::kBf16, Shape{2, 128}};

  std::string_view full(ConstView qkv, ConstView lengths, View out) const {
    return attention_refusal(problem_, Precision::kBf16, qkv, lengths, out);
  }
  std::string_view subset(ConstView q, ConstView kv, ConstView lengths, View out) const {
    return attention_refusal(subset_, Precision::kBf16, q, kv, lengths, out);
  }
};

TEST_F(Memory, as_the_problem_says_is_taken) {
  EXPECT_EQ(full(qkv_, counts_, out_), "");
  EXPECT_EQ(subset(q_, kv_, counts_, some_), "");
  EXPECT_EQ(full(qkv_, {lengths_ + 1, DType::kI32, Shape{2, 1}}, out_), "");
}

TEST_F(Memory, other_strides_types_counts_and_alignments_are_refused) {
  EXPECT_NE(full({input_, DType::kBf16, Shape{10, 384}, 400}, counts_, out_), "");
  EXPECT_NE(full({input_ + 2, DType::kBf16, Shape{10, 384}}, counts_, out_), "");
  EXPECT_EQ(full({input_ + 16, DType::kBf16, Shape{10, 384}}, counts_, out_), "");
  EXPECT_NE(full({input_, DType::kF32, Shape{10, 384}}, counts_, out_), "");
  EXPECT_NE(full({input_, DType::kBf16, Shape{9, 384}}, counts_, out_), "");
  EXPECT_NE(full({}, counts_, out_), "");
  EXPECT_NE(full(qkv_, counts_, {output_ + 8, DType::kBf16, Shape{10, 128}}), "");
  EXPECT_NE(full(qkv_, counts_, {output_, DType::kBf16, Shape{10, 64}}), "");
  EXPECT_NE(subset({output_, DType::kBf16, Shape{2, 128}, 130}, kv_, counts_, some_), "");
  EXPECT_NE(subset(q_, {input_, DType::kBf16, Shape{10, 256}, 384}, counts_, some_), "");
  EXPECT_NE(subset(q_, {input_ + 4, DType::kBf16, Shape{10, 256}}, counts_, some_), "");
}

TEST_F(Memory, lengths_of_another_shape_are_refused) {
  EXPECT_NE(full(qkv_, {lengths_, DType::kI32, Shape{1}}, out_), "");
  EXPECT_NE(full(qkv_, {lengths_, DType::kI32, Shape{3}}, out_), "");
  EXPECT_NE(full(qkv_, {lengths_, DType::kI32, Shape{2, 5}}, out_), "");
  EXPECT_NE(full(qkv_, {lengths_, DType::kI32, Shape{2, 1}, 2}, out_), "");
  EXPECT_NE(full(qkv_, {lengths_, DType::kI64, Shape{2}}, out_), "");
  EXPECT_NE(full(qkv_, {}, out_), "");
  EXPECT_NE(subset(q_, kv_, {lengths_, DType::kI32, Shape{1}}, some_), "");
}

TEST_F(Memory, packed_parts_are_recognised_and_anything_else_is_not) {
  const auto parts_at = [&](const std::byte* at) {
    std::vector<StridedHeads> parts;
    for (int i = 0; i < 3; ++i) parts.push_back({at + i * 256, 5 * 384, 384});
    return parts;
  };
  const auto is_taken = [&](const std::vector<StridedHeads>& parts) {
    return is_packed(parts, 5, 2, Precision::kBf16);
  };
  EXPECT_TRUE(is_taken(parts_at(input_)));
  EXPECT_FALSE(is_taken(parts_at(input_ + 2)));
  for (int change = 0; change < 5; ++change) {
    auto parts = parts_at(input_);
    StridedHeads& part = parts[static_cast<std::size_t>(change) % 3];
    if (change == 0) part.data = input_ + 512;
    if (change == 1) part.row_stride = 256;
    if (change == 2) part.batch_stride = 384;
    if (change == 3) part.head_stride = 32;
    if (change == 4) part.column_stride = 2;
    EXPECT_FALSE(is_taken(parts)) << change;
  }
}

TEST(AttentionArgs, addresses_and_strides_are_those_of_the_shapes) {
  std::byte input[64] = {};
  std::byte output[64] = {};
  const AttentionArgs full =
      args_of(AttentionProblem{2, 5, 3, 64}, Precision::kBf16, input, nullptr, output);
  const auto bytes_from = [](const void* from, const void* to) {
    return static_cast<const std::byte*>(to) - static_cast<const std::byte*>(from);
  };
  EXPECT_EQ(bytes_from(full.q, full.k), 3 * 64 * 2);
  EXPECT_EQ(bytes_from(full.k, full.v), 3 * 64 * 2);
  EXPECT_EQ(full.q_row_stride, 9 * 64);
  EXPECT_EQ(full.kv_batch_stride, 5 * 9 * 64);
  EXPECT_EQ(full.half_window, -1);  // wider than the row
  EXPECT_TRUE(full.are_queries_keys);
  const AttentionArgs some =
      args_of(SubsetAttentionProblem{2, 4, 5, 3, ops::AttentionOutput::kHeadMajor},
              Precision::kFp32, input, input, nullptr, output);
  EXPECT_EQ(bytes_from(some.k, some.v), 3 * 64 * 4);
  EXPECT_EQ(some.q_batch_stride, 4 * 3 * 64);
  EXPECT_EQ(some.kv_batch_stride, 5 * 6 * 64);
  EXPECT_EQ(some.out_row_stride, 64);
  EXPECT_EQ(some.out_head_stride, 4 * 64);
  EXPECT_FALSE(some.are_queries_keys);
}

TEST(AttentionKernels, each_tile_has_its_kernel_and_fp32_one_for_all) {
  EXPECT_EQ(attention_kernels().size(), 4U);
  EXPECT_NE(attention_kernel(AttentionTile::kRows16, Precision::kBf16).function,
            attention_kernel(AttentionTile::kRows64, Precision::kBf16).function);
  EXPECT_NE(attention_kernel(AttentionTile::kRows64, Precision::kBf16).function,
            attention_kernel(AttentionTile::kRows128, Precision::kBf16).function);
  EXPECT_EQ(attention_kernel(AttentionTile::kRows16, Precision::kFp32).function,
            attention_kernel(AttentionTile::kRows128, Precision::kFp32).function);
}

}  // namespace
}  // namespace abba::cuda
