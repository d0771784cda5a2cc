#include "engine/cuda/weight_memory.h"

#include <algorithm>

namespace abba::cuda {
namespace {

constexpr std::size_t kSlabBytes = std::size_t{32} << 20U;
constexpr std::size_t kAlignmentBytes = 256;

}  // namespace

std::byte* WeightMemory::take(std::size_t size_bytes, std::string_view name) {
  const std::size_t size = (size_bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  if (slabs_.empty() || size > slabs_.back().size_bytes() - used_of_last_) {
    slabs_.emplace_back(std::max(size, kSlabBytes), name);
    used_of_last_ = 0;
  }
  std::byte* piece = slabs_.back().data() + used_of_last_;
  used_of_last_ += size;
  taken_bytes_ += size_bytes;
  return piece;
}

std::size_t WeightMemory::held_bytes() const {
  std::size_t held = 0;
  for (const DeviceBuffer& slab : slabs_) held += slab.size_bytes();
  return held;
}

}  // namespace abba::cuda
