// Owners of device memory and of page-locked host memory, from the plain allocators: 256-byte
// aligned, not initialised, movable, destructors never throw. An allocation that fails throws
// base::Error saying what was wanted, how much was free and for what. Nothing is allocated in a
// request.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

namespace abba::cuda {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // `purpose` names the buffer in the message of a refusal: "weights of encoder.layers.0".
  DeviceBuffer(std::size_t size_bytes, std::string_view purpose);
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }
  ~DeviceBuffer();

  [[nodiscard]] std::byte* data() const { return data_; }  // a device address
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(std::size_t size_bytes, std::string_view purpose);
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }
  ~PinnedBuffer();

  [[nodiscard]] std::byte* data() const { return data_; }  // a host address
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace abba::cuda
