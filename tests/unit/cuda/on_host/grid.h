// Kernels without a GPU: their own source, compiled as C++, every thread of a block a fiber of one
// operating system thread. Barriers and the instructions of a warp are meeting places; shared
// memory is a thread_local variable, filled with NaNs before each block. Blocks run one after
// another, every second one with its threads in backward order, so that a missing barrier gives
// numbers that depend on the order. Shows indices, sums and rounding; nothing of speed, and no
// race that these two orders hide.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/cuda/geometry.h"

namespace abba::cuda::on_host {

struct Index3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};
// Of the thread that runs.
extern Index3 thread_index;
extern Index3 block_index;
extern Index3 block_extent;

inline constexpr int kSharedBytes = 232448;  // what a block may have on compute capability 9.0
// All dynamic shared memory; shared addresses are offsets in it.
unsigned char* shared_memory();

// Runs `kernel` once for every thread of the grid.
void run_grid(const Geometry& geometry, const std::function<void()>& kernel);

int lane();         // of the running thread in its warp
void meet_block();  // __syncthreads
// All lanes of a warp; the last to come runs `together` first.
void meet_warp(const std::function<void()>& together = {});
// What lane `from` gave in the same call of all lanes.
float exchange(float value, int from);
// 4 words that lane `of` of the running warp left with leave().
void leave(const void* words, int count);
const std::uint32_t* left_by(int of);

// cp.async: copies happen when the group is waited for, not before.
void copy_later(std::uint32_t to, const void* from, bool is_real);
void close_group();
void wait_for_groups(int pending);

}  // namespace abba::cuda::on_host
