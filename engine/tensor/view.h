// Views: a pointer, an element type, a shape and a row stride. They own nothing; whoever made the
// memory (a Buffer, a mapped checkpoint) must outlive them. Rows (all axes but the last, flattened)
// are `row_stride` elements apart, the elements of a row lie side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/base/error.h"
#include "engine/tensor/dtype.h"
#include "engine/tensor/shape.h"

namespace abba::tensor {

// What View and ConstView have in common; `Void` is `void` or `const void`.
template <typename Void>
class BasicView {
 public:
  template <typename T>
  using Pointer = std::conditional_t<std::is_const_v<Void>, const T*, T*>;

  BasicView() = default;  // no memory: is_null()
  BasicView(Void* data, DType dtype, const Shape& shape)
      : BasicView(data, dtype, shape, shape.column_count()) {}
  BasicView(Void* data, DType dtype, const Shape& shape, std::int64_t row_stride)
      : data_(data), dtype_(dtype), shape_(shape), row_stride_(row_stride) {
    ABBA_CHECK(row_stride >= shape.column_count());
  }
  // A mutable view is also a view of constant data.
  template <typename Other>
  requires(std::is_const_v<Void>&& std::is_same_v<Other, void>)
      BasicView(const BasicView<Other>& other)  // NOLINT(google-explicit-constructor)
      : BasicView(other.data(), other.dtype(), other.shape(), other.row_stride()) {}

  [[nodiscard]] bool is_null() const { return data_ == nullptr; }
  [[nodiscard]] Void* data() const { return data_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t row_stride() const { return row_stride_; }
  [[nodiscard]] std::int64_t rows() const { return shape_.row_count(); }
  [[nodiscard]] std::int64_t columns() const { return shape_.column_count(); }
  [[nodiscard]] std::int64_t element_count() const { return shape_.element_count(); }
  [[nodiscard]] bool is_contiguous() const { return row_stride_ == columns() || rows() <= 1; }
  // Bytes of the elements, gaps between rows not counted.
  [[nodiscard]] std::size_t size_bytes() const {
    return static_cast<std::size_t>(element_count()) * size_bytes_of(dtype_);
  }

  // The first element; T must be the element type (ABBA_CHECK).
  template <typename T>
  [[nodiscard]] Pointer<T> as() const {
    ABBA_CHECK(DTypeOf<T>::value == dtype_);
    return static_cast<Pointer<T>>(data_);
  }
  // The first element of row `row` in [0, rows()).
  template <typename T>
  [[nodiscard]] Pointer<T> row(std::int64_t row_index) const {
    ABBA_CHECK(row_index >= 0 && row_index < rows());
    return as<T>() + row_index * row_stride_;
  }
  // Rows [first, first + count) as a view of shape [count, columns()].
  [[nodiscard]] BasicView slice_rows(std::int64_t first, std::int64_t count) const {
    ABBA_CHECK(first >= 0 && count >= 0 && first <= rows() - count);
    return BasicView(offset(first * row_stride_), dtype_, Shape{count, columns()}, row_stride_);
  }
  // Columns [first, first + count) of every row as a view of shape [rows(), count], stride kept.
  [[nodiscard]] BasicView slice_columns(std::int64_t first, std::int64_t count) const {
    ABBA_CHECK(first >= 0 && count >= 0 && first <= columns() - count);
    return BasicView(offset(first), dtype_, Shape{rows(), count}, row_stride_);
  }
  // The same elements in another shape of the same count; must be contiguous.
  [[nodiscard]] BasicView reshaped(const Shape& shape) const {
    ABBA_CHECK(is_contiguous() && shape.element_count() == element_count());
    return BasicView(data_, dtype_, shape);
  }

 private:
  [[nodiscard]] Void* offset(std::int64_t elements) const {
    return static_cast<Pointer<std::byte>>(data_) +
           elements * static_cast<std::int64_t>(size_bytes_of(dtype_));
  }

  Void* data_ = nullptr;
  DType dtype_ = DType::kF32;
  Shape shape_{0};
  std::int64_t row_stride_ = 0;
};

using View = BasicView<void>;
using ConstView = BasicView<const void>;

}  // namespace abba::tensor
