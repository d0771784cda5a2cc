#include "engine/cuda/geometry.h"

namespace abba::cuda {
namespace {

bool within(std::int64_t value, std::int64_t least, std::int64_t most) {
  return value >= least && value <= most;
}

}  // namespace

bool is_launchable(const Geometry& geometry) {
  const Dim3& grid = geometry.grid;
  const Dim3& block = geometry.block;
  const bool grid_fits = within(grid.x, 1, kMostGridX) && within(grid.y, 1, kMostGridYz) &&
                         within(grid.z, 1, kMostGridYz);
  const bool block_fits = within(block.x, 1, kMostThreads) && within(block.y, 1, kMostThreads) &&
                          within(block.z, 1, 64);
  return grid_fits && block_fits && block.x * block.y * block.z <= kMostThreads;
}

}  // namespace abba::cuda
