// Stands in for the attention_mma.cuh of the same path where kernels run on the host: the
// instructions of a warp by their definition. A matrix product adds the 16 products of an element
// exactly and rounds once; the hardware's sum may differ in the last bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/base/half.h"
#include "tests/unit/cuda/on_host/grid.h"

namespace abba::cuda {

inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(static_cast<const unsigned char*>(pointer) -
                                    on_host::shared_memory());
}
inline void copy_16_async(std::uint32_t to, const void* from, bool is_real) {
  on_host::copy_later(to, from, is_real);
}
inline void commit_copies() {
  on_host::close_group();
}
template <int kPending>
inline void wait_copies() {
  on_host::wait_for_groups(kPending);
}

inline void load_matrices(std::uint32_t (&part)[4], std::uint32_t address) {
  on_host::leave(&address, 1);
  on_host::meet_warp();
  const int lane = on_host::lane();
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t row = *on_host::left_by(i * 8 + lane / 4);
    std::memcpy(&part[i], on_host::shared_memory() + row + 4 * (lane % 4), 4);
  }
  on_host::meet_warp();
}

inline float half_of(std::uint32_t pair, int which) {
  return base::to_float(base::Bf16{static_cast<std::uint16_t>(pair >> (16 * which))});
}

// Element (row, k) of a and (k, column) of b as the lanes hold them.
inline float a_element(int row, int k) {
  const std::uint32_t* words = on_host::left_by(row % 8 * 4 + k % 8 / 2);
  return half_of(words[row / 8 + k / 8 * 2], k % 2);
}
inline float b_element(int k, int column) {
  const std::uint32_t* words = on_host::left_by(column * 4 + k % 8 / 2);
  return half_of(words[4 + k / 8], k % 2);
}

inline void multiply_add(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                         std::uint32_t b1) {
  const std::uint32_t words[] = {a[0], a[1], a[2], a[3], b0, b1};
  on_host::leave(words, 6);
  on_host::meet_warp();
  const int lane = on_host::lane();
  for (int i = 0; i < 4; ++i) {
    double products = 0.0;
    for (int k = 0; k < 16; ++k) {
      products += static_cast<double>(a_element(lane / 4 + i / 2 * 8, k)) *
                  b_element(k, lane % 4 * 2 + i % 2);
    }
    sum[i] = static_cast<float>(sum[i] + products);
  }
  on_host::meet_warp();
}

inline std::uint32_t pack_bf16(float low, float high) {
  return base::to_bf16(low).bits | std::uint32_t{base::to_bf16(high).bits} << 16U;
}

}  // namespace abba::cuda
