#include "engine/tensor/shape.h"

#include "engine/base/error.h"

namespace abba::tensor {

Shape::Shape(std::initializer_list<std::int64_t> extents)
    : Shape(std::span<const std::int64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::int64_t> extents) {
  ABBA_CHECK(extents.size() <= kMaxRank);
  for (const std::int64_t extent : extents) {
    ABBA_CHECK(extent >= 0);
    ABBA_CHECK(!__builtin_mul_overflow(element_count_, extent, &element_count_));
    extents_[static_cast<std::size_t>(rank_++)] = extent;
  }
}

std::int64_t Shape::row_count() const {
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < rank_; ++axis) rows *= extents_[static_cast<std::size_t>(axis)];
  return rows;
}

std::string Shape::text() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(extents_[static_cast<std::size_t>(axis)]);
  }
  return text + "]";
}

std::size_t Shape::checked(int axis) const {
  ABBA_CHECK(axis >= 0 && axis < rank_);
  return static_cast<std::size_t>(axis);
}

}  // namespace abba::tensor
