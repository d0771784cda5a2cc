#include "engine/cuda/weight_memory.h"

#include <algorithm>

namespace abba::cuda {
namespace {

constexpr std::size_t kSlabBytes = std::size_t{64} << 20U;
constexpr std::size_t kAlignmentBytes = 256;

}  // namespace

std::byte* WeightMemory::take(std::size_t size_bytes, std::string_view name) {
  const std::size_t size = (size_bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  auto slab = std::find_if(slabs_.begin(), slabs_.end(), [&](const Slab& s) {
    return size <= s.memory.size_bytes() - s.used_bytes;
  });
  if (slab == slabs_.end()) {
    slabs_.push_back({DeviceBuffer(std::max(size, kSlabBytes), name), 0});
    slab = slabs_.end() - 1;
  }
  std::byte* piece = slab->memory.data() + slab->used_bytes;
  slab->used_bytes += size;
  taken_bytes_ += size_bytes;
  return piece;
}

std::size_t WeightMemory::held_bytes() const {
  std::size_t held = 0;
  for (const Slab& slab : slabs_) held += slab.memory.size_bytes();
  return held;
}

}  // namespace abba::cuda
