// A buffer owns the memory of one tensor: 64-byte aligned, contiguous, not initialised, moved and
// never copied. Throws std::bad_alloc if there is no memory.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/tensor/view.h"

namespace abba::tensor {

class Buffer {
 public:
  static constexpr std::size_t kAlignmentBytes = 64;

  Buffer() = default;  // empty: view().is_null()
  Buffer(DType dtype, const Shape& shape);

  [[nodiscard]] View view() { return View(memory_.get(), dtype_, shape_); }
  [[nodiscard]] ConstView view() const { return ConstView(memory_.get(), dtype_, shape_); }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  template <typename T>
  [[nodiscard]] T* as() {
    return view().template as<T>();
  }
  template <typename T>
  [[nodiscard]] const T* as() const {
    return view().template as<T>();
  }

  // Fills every byte with 0xFF: a NaN in the floating types, -1 or 255 in the others. Tests poison
  // what an operation must write, so that an element left out shows.
  void poison();
  void fill_zero();

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  DType dtype_ = DType::kF32;
  Shape shape_{0};
};

}  // namespace abba::tensor
