// Launch geometry and the choices that depend on sizes alone, as pure functions: plain C++, tested
// without a GPU. A launcher takes its Geometry from here and from nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace abba::cuda {

inline constexpr std::int64_t kMostGridX = 2147483647;   // blocks in x
inline constexpr std::int64_t kMostGridYz = 65535;       // blocks in y or z
inline constexpr std::int64_t kMostThreads = 1024;       // of a block
inline constexpr std::size_t kPlainSharedBytes = 49152;  // dynamic, without raising the limit

struct Dim3 {
  std::int64_t x = 1;
  std::int64_t y = 1;
  std::int64_t z = 1;
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

// A grid with an extent of 0 is an empty launch: nothing runs.
struct Geometry {
  Dim3 grid;
  Dim3 block;
  std::size_t shared_bytes = 0;  // dynamic
  [[nodiscard]] bool is_empty() const { return grid.x == 0 || grid.y == 0 || grid.z == 0; }
  friend bool operator==(const Geometry&, const Geometry&) = default;
};

constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

// Whether the hardware takes it: extents within the limits above, at least one thread.
bool is_launchable(const Geometry& geometry);

}  // namespace abba::cuda
