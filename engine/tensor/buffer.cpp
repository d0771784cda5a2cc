#include "engine/tensor/buffer.h"

#include <cstring>
#include <new>

namespace abba::tensor {

Buffer::Buffer(DType dtype, const Shape& shape)
    : memory_(static_cast<std::byte*>(
          ::operator new (static_cast<std::size_t>(shape.element_count()) * size_bytes_of(dtype),
                          std::align_val_t{kAlignmentBytes}))),
      dtype_(dtype),
      shape_(shape) {}

void Buffer::poison() {
  if (memory_) std::memset(memory_.get(), 0xFF, view().size_bytes());
}

void Buffer::fill_zero() {
  if (memory_) std::memset(memory_.get(), 0, view().size_bytes());
}

void Buffer::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{kAlignmentBytes});
}

}  // namespace abba::tensor
