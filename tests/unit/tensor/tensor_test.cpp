#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/convert.h"

namespace abba::tensor {
namespace {

TEST(Convert, EveryFloatingTypeBecomesFloatAndBf16) {
  const std::vector<float> exact = {1.0F, -2.5F, 0.15625F, 3.140625F, -0.0F, 96.0F};
  Buffer floats(DType::kF32, Shape{2, 3});
  Buffer brain(DType::kBf16, Shape{2, 3});
  Buffer half(DType::kF16, Shape{2, 3});
  for (std::size_t i = 0; i < exact.size(); ++i) {  // representable in all three
    floats.as<float>()[i] = exact[i];
    brain.as<base::Bf16>()[i] = base::to_bf16(exact[i]);
    half.as<base::F16>()[i] = base::to_f16(exact[i]);
  }
  for (const Buffer* from : {&floats, &brain, &half}) {
    Buffer wide(DType::kF32, Shape{2, 3});
    Buffer narrow(DType::kBf16, Shape{2, 3});
    wide.poison();
    narrow.poison();
    convert(from->view(), wide.as<float>());
    convert(from->view(), narrow.as<base::Bf16>());
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_EQ(wide.as<float>()[i], exact[i]) << name_of(from->dtype());
      EXPECT_EQ(base::to_float(narrow.as<base::Bf16>()[i]), exact[i]) << name_of(from->dtype());
    }
    float row[3] = {};
    convert(from->view().slice_rows(1, 1), row);
    EXPECT_EQ(row[2], 96.0F);
  }
}

TEST(Convert, RoundsOnceAndRefusesIntegers) {
  Buffer floats(DType::kF32, Shape{1});
  base::Bf16 narrow{};
  floats.as<float>()[0] = 1.00390625F;  // halfway between two bf16: to the even one
  convert(floats.view(), &narrow);
  EXPECT_EQ(base::to_float(narrow), 1.0F);
  Buffer integers(DType::kI32, Shape{1});
  float wide = 0.0F;
  EXPECT_THROW(convert(integers.view(), &wide), base::Error);
}

TEST(DType, NamesAndSizes) {
  for (const DType dtype :
       {DType::kF32, DType::kBf16, DType::kF16, DType::kI32, DType::kI64, DType::kU8}) {
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  EXPECT_EQ(size_bytes_of(DType::kI64), 8U);
  EXPECT_EQ(size_bytes_of(DTypeOf<base::Bf16>::value), sizeof(base::Bf16));
  EXPECT_EQ(dtype_from_name("F64"), std::nullopt);
  EXPECT_EQ(dtype_from_name("f32"), std::nullopt);
}

TEST(Shape, CountsRowsColumnsElements) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.element_count(), 30);
  EXPECT_EQ(shape.row_count(), 6);
  EXPECT_EQ(shape.column_count(), 5);
  EXPECT_EQ(shape.text(), "[2, 3, 5]");
  EXPECT_EQ(Shape{}.element_count(), 1);
  EXPECT_EQ(Shape{7}.row_count(), 1);
  EXPECT_FALSE((Shape{6, 5} == Shape{5, 6}));
  EXPECT_FALSE((Shape{6} == Shape{6, 0}));
}

TEST(ShapeDeathTest, RefusesOurMistakes) {
  EXPECT_DEATH((Shape{1, 2, 3, 4, 5}), "kMaxRank");
  EXPECT_DEATH((Shape{-1}), "extent");
  EXPECT_DEATH((Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}), "overflow");
  EXPECT_DEATH((void)(Shape{2, 3}[2]), "axis");
}

TEST(View, RowsFollowTheStride) {
  std::vector<std::int32_t> memory(40);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::int32_t>(i);
  const View view(memory.data(), DType::kI32, Shape{4, 6}, 10);
  EXPECT_FALSE(view.is_contiguous());
  EXPECT_EQ(view.row<std::int32_t>(3)[5], 35);
  EXPECT_EQ(view.size_bytes(), 96U);
  const ConstView rows = view.slice_rows(1, 2);
  EXPECT_EQ(rows.shape(), (Shape{2, 6}));
  EXPECT_EQ(rows.row<std::int32_t>(1)[0], 20);
  const View columns = view.slice_columns(2, 3);
  EXPECT_EQ(columns.shape(), (Shape{4, 3}));
  EXPECT_EQ(columns.row<std::int32_t>(2)[0], 22);
  EXPECT_EQ(columns.row_stride(), 10);
  EXPECT_TRUE(view.slice_rows(0, 1).is_contiguous());
}

TEST(View, ReshapesOnlyWhatIsContiguous) {
  Buffer buffer(DType::kF32, Shape{4, 6});
  buffer.as<float>()[23] = 5;
  EXPECT_EQ(buffer.view().reshaped(Shape{2, 2, 6}).row<float>(3)[5], 5);
  EXPECT_DEATH((void)buffer.view().slice_columns(0, 3).reshaped(Shape{12}), "is_contiguous");
  EXPECT_DEATH((void)buffer.view().reshaped(Shape{23}), "element_count");
}

TEST(ViewDeathTest, RefusesOurMistakes) {
  Buffer buffer(DType::kBf16, Shape{4, 6});
  const View view = buffer.view();
  EXPECT_DEATH((void)view.as<float>(), "dtype");
  EXPECT_DEATH((void)view.row<base::Bf16>(4), "row_index");
  EXPECT_DEATH((void)view.slice_rows(3, 2), "rows");
  EXPECT_DEATH((void)view.slice_columns(-1, 2), "first");
  EXPECT_DEATH((void)View(view.data(), DType::kBf16, Shape{4, 6}, 5), "row_stride");
}

TEST(Buffer, IsAlignedAndMoves) {
  for (const std::int64_t count : {1, 3, 1000}) {
    Buffer buffer(DType::kU8, Shape{count});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.view().data()) % Buffer::kAlignmentBytes, 0U);
    const void* data = buffer.view().data();
    const Buffer moved = std::move(buffer);
    EXPECT_EQ(moved.view().data(), data);
  }
  EXPECT_TRUE(Buffer().view().is_null());
  EXPECT_EQ(Buffer().view().size_bytes(), 0U);
}

TEST(Buffer, PoisonIsNaNInEveryFloatingType) {
  Buffer f32(DType::kF32, Shape{3, 5});
  Buffer bf16(DType::kBf16, Shape{3, 5});
  Buffer f16(DType::kF16, Shape{3, 5});
  for (Buffer* buffer : {&f32, &bf16, &f16}) {
    buffer->fill_zero();
    buffer->poison();
  }
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_TRUE(std::isnan(f32.as<float>()[i]));
    EXPECT_TRUE(std::isnan(base::to_float(bf16.as<base::Bf16>()[i])));
    EXPECT_TRUE(std::isnan(base::to_float(f16.as<base::F16>()[i])));
  }
  f32.fill_zero();  // canary: the check above must be able to fail
  EXPECT_FALSE(std::isnan(f32.as<float>()[14]));
}

}  // namespace
}  // namespace abba::tensor
