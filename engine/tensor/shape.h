// The extents of a tensor: at most kMaxRank of them, none negative. A plain value; owns no memory.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace abba::tensor {

class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;  // rank 0: one element
  // Requires at most kMaxRank extents, none negative, with a product that fits int64_t (ABBA_CHECK:
  // whoever reads extents from a file validates them first).
  Shape(std::initializer_list<std::int64_t> extents);
  explicit Shape(std::span<const std::int64_t> extents);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] std::int64_t operator[](int axis) const { return extents_[checked(axis)]; }
  [[nodiscard]] std::int64_t element_count() const { return element_count_; }
  // The last extent; 1 for rank 0.
  [[nodiscard]] std::int64_t column_count() const { return rank_ == 0 ? 1 : extents_[rank_ - 1]; }
  // The product of all extents but the last; 1 for rank 0 and 1.
  [[nodiscard]] std::int64_t row_count() const;
  // "[3072, 1024]"
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && a.extents_ == b.extents_;
  }

 private:
  [[nodiscard]] std::size_t checked(int axis) const;

  std::array<std::int64_t, kMaxRank> extents_{};
  std::int64_t element_count_ = 1;
  int rank_ = 0;
};

}  // namespace abba::tensor
