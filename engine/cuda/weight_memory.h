// Device memory for weights: slabs from which pieces are cut, 256-byte aligned, each from the first
// slab that has room, never given back before the whole. Keeps hundreds of small vectors from
// costing a page each.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "engine/cuda/memory.h"

namespace abba::cuda {

class WeightMemory {
 public:
  // A device address for `size_bytes` bytes; `name` is for the message of a refusal.
  std::byte* take(std::size_t size_bytes, std::string_view name);
  [[nodiscard]] std::size_t taken_bytes() const { return taken_bytes_; }  // without the slabs' rest
  [[nodiscard]] std::size_t held_bytes() const;                           // with it

 private:
  struct Slab {
    DeviceBuffer memory;
    std::size_t used_bytes = 0;
  };
  std::vector<Slab> slabs_;
  std::size_t taken_bytes_ = 0;
};

}  // namespace abba::cuda
