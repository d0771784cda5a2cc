// Writes a safetensors file: the layout is fixed first, then tensors are filled in any order and
// from several threads, then finish() makes the file appear under its name. Until then it is a
// temporary beside it, removed by the destructor. The bytes depend on nothing but layout, metadata
// and contents.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/checkpoint/safetensors.h"

namespace abba::checkpoint {

class SafetensorsWriter {
 public:
  // Lays the tensors out in the order given, so an element size must not grow from one to the next
  // (ABBA_CHECK: each would no longer start at a multiple of its own size); their offset_bytes and
  // size_bytes are computed here. Throws Error(kBadInput) if `path` exists, Error(kBroken) if the
  // disk has no room for the whole file.
  SafetensorsWriter(std::string path, std::vector<TensorInfo> tensors,
                    const std::vector<std::pair<std::string, std::string>>& metadata);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  [[nodiscard]] const std::vector<TensorInfo>& tensors() const { return tensors_; }
  // Bytes [first, first + size) of tensor number `tensor`; each byte is to be written once.
  // Thread-safe.
  void write(std::size_t tensor, std::uint64_t first, const void* data, std::size_t size_bytes);
  // All bytes must have been written (ABBA_CHECK). Syncs and renames.
  void finish();

 private:
  void write_at(std::uint64_t offset, const void* data, std::size_t size_bytes);

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  std::vector<TensorInfo> tensors_;
  std::uint64_t data_start_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::atomic<std::uint64_t> written_bytes_{0};
};

}  // namespace abba::checkpoint
