// Biases of rows and columns that do not lie side by side: the bits of contiguous ones, by the
// kernel for all strides, with what lies between untouched.
#include "engine/cuda/kernels/strided_bias.h"

#include <cstring>

#include "engine/cuda/kernels/bias.h"
#include "tests/device/launcher.h"

namespace abba::device {
namespace {

using cuda::StridedColumns;
using cuda::StridedRows;

// Where the elements of [rows, columns] lie in a buffer, in elements.
struct Layout {
  const char* name;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

class StridedBias : public Launcher {
 protected:
  void SetUp() override {
    Launcher::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    for (const cuda::KernelRow& row : cuda::bias_kernels()) {
      ASSERT_TRUE(kernels_->is_available(row));
    }
    for (const cuda::KernelRow& row : cuda::strided_bias_kernels()) {
      ASSERT_TRUE(kernels_->is_available(row));
    }
  }
  // Elements [rows, columns] of `from` copied between layouts; what `to` holds elsewhere stays.
  void place(const Buffer& from, const Layout& from_layout, Buffer& to, const Layout& to_layout,
             const ops::BiasProblem& sizes) const;
  void check(const ops::BiasProblem& problem, const Layout& layout, std::int64_t bias_stride);
};

void StridedBias::place(const Buffer& from, const Layout& from_layout, Buffer& to,
                        const Layout& to_layout, const ops::BiasProblem& sizes) const {
  const auto* source = static_cast<const std::byte*>(from.view().data());
  auto* target = static_cast<std::byte*>(to.view().data());
  for (std::int64_t r = 0; r < sizes.rows; ++r) {
    for (std::int64_t c = 0; c < sizes.columns; ++c) {
      const std::int64_t here = r * from_layout.row_stride + c * from_layout.column_stride;
      const std::int64_t there = r * to_layout.row_stride + c * to_layout.column_stride;
      std::memcpy(target + there * size(), source + here * size(),
                  static_cast<std::size_t>(size()));
    }
  }
}

void StridedBias::check(const ops::BiasProblem& problem, const Layout& layout,
                        std::int64_t bias_stride) {
  const Layout packed{"packed", problem.columns, 1};
  const ops::BiasProblem one_row{1, problem.columns};
  const Buffer values = random(act(), Shape{problem.rows, problem.columns}, 2.0F);
  const Layout apart{"bias", 0, bias_stride};
  const Buffer spread_bias = random(act(), Shape{(problem.columns - 1) * bias_stride + 1});
  Buffer bias(act(), Shape{problem.columns});
  place(spread_bias, apart, bias, packed, one_row);

  const Uploaded expected{values};
  const Uploaded plain_bias{bias};
  cuda::launch_bias(problem, plain_bias.data(), expected.data(), context());
  const Buffer wanted = read(expected.data(), Shape{problem.rows, problem.columns});

  const std::int64_t extent =
      (problem.rows - 1) * layout.row_stride + (problem.columns - 1) * layout.column_stride + 1;
  Buffer spread(act(), Shape{extent});
  spread.poison();
  place(values, packed, spread, layout, problem);
  const Uploaded y{spread};
  const Uploaded b{spread_bias};
  const cuda::KernelRow* ran =
      cuda::launch_strided_bias(problem, {b.data(), bias_stride},
                                {y.data(), layout.row_stride, layout.column_stride}, context());

  const bool is_contiguous =
      layout.column_stride == 1 && layout.row_stride == problem.columns && bias_stride == 1;
  ASSERT_NE(ran, nullptr);
  const auto& other = cuda::strided_bias_kernels()[is_bf16() ? 0 : 1];
  EXPECT_EQ(ran->name, is_contiguous
                           ? cuda::bias_kernel_of(problem.variant, GetParam().precision).name
                           : other.name);
  Buffer expected_spread(act(), Shape{extent});
  expected_spread.poison();
  place(wanted, packed, expected_spread, layout, problem);
  EXPECT_EQ(differing_bits(read(y.data(), Shape{extent}), expected_spread), 0)
      << layout.name << ", bias " << bias_stride << " apart, " << problem.rows << " x "
      << problem.columns;
}

TEST_P(StridedBias, matches_contiguous_operands_bit_for_bit) {
  for (const auto variant : {ops::BiasVariant::kStridedDiv64, ops::BiasVariant::kRows2d}) {
    for (const bool relu : {false, true}) {
      for (const auto& [rows, columns] :
           {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 129}, {65, 384}, {3, 1024}}) {
        const ops::BiasProblem problem{rows, columns, relu, variant};
        for (const std::int64_t bias_stride : {1, 3, 0}) {
          check(problem, {"packed", columns, 1}, bias_stride);
          check(problem, {"rows apart", columns + 5, 1}, bias_stride);
          check(problem, {"transposed", 1, rows}, bias_stride);
          check(problem, {"every second column", 2 * columns, 2}, bias_stride);
        }
      }
    }
  }
}

TEST_P(StridedBias, nothing_is_launched_for_nothing) {
  const Uploaded memory{random(act(), Shape{8})};
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{0, 8}, {4, 0}}) {
    EXPECT_EQ(cuda::launch_strided_bias({rows, columns}, {memory.data(), 2}, {memory.data(), 1, 4},
                                        context()),
              nullptr);
  }
  EXPECT_EQ(state_.launches, 0);
}

// Canary: a transposed y read as if it were packed gives other bits.
TEST_P(StridedBias, canary_misread_strides_are_caught) {
  const ops::BiasProblem problem{16, 24};
  const Buffer values = random(act(), Shape{16, 24}, 2.0F);
  const Buffer bias = random(act(), Shape{24});
  const Uploaded b{bias};
  const Uploaded right{values};
  const Uploaded wrong{values};
  cuda::launch_strided_bias(problem, {b.data(), 1}, {right.data(), 1, 16}, context());
  cuda::launch_strided_bias(problem, {b.data(), 1}, {wrong.data(), 24, 1}, context());
  EXPECT_GT(differing_bits(read(right.data(), Shape{16, 24}), read(wrong.data(), Shape{16, 24})),
            0);
}

INSTANTIATE_TEST_SUITE_P(device, StridedBias, testing::ValuesIn(cuda_ways()), way_name);

}  // namespace
}  // namespace abba::device
