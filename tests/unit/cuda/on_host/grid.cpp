#include "tests/unit/cuda/on_host/grid.h"

#include <ucontext.h>

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "engine/base/error.h"

namespace abba::cuda {
// What the kernels declare as their dynamic shared memory, under the names they use.
alignas(1024) thread_local unsigned char gated_stages[on_host::kSharedBytes];
}  // namespace abba::cuda

namespace abba::cuda::on_host {

Index3 thread_index;
Index3 block_index;
Index3 block_extent;

namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10U;

struct MeetingPlace {
  int expected = 0;
  int present = 0;
  std::int64_t meetings = 0;
};

struct Copy {
  std::uint32_t to;
  const void* from;
  bool is_real;
};

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Index3 index;
  bool is_done = false;
  std::array<std::uint32_t, 8> words{};
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> groups;
};

struct Block {
  ucontext_t scheduler;
  std::vector<Fiber> fibers;
  std::vector<MeetingPlace> warps;
  MeetingPlace all;
  std::size_t running = 0;
  const std::function<void()>* kernel = nullptr;
};
Block block;

Fiber& fiber() {
  return block.fibers[block.running];
}
MeetingPlace& warp() {
  return block.warps[block.running / 32];
}

void give_way() {
  swapcontext(&fiber().context, &block.scheduler);
}

void meet(MeetingPlace& place, const std::function<void()>& together) {
  const std::int64_t meeting = place.meetings;
  if (++place.present == place.expected) {
    if (together) together();
    place.present = 0;
    ++place.meetings;
    return;
  }
  while (place.meetings == meeting) give_way();
}

void run_thread() {
  (*block.kernel)();
  fiber().is_done = true;
  give_way();
}

void start(Fiber& f, unsigned number) {
  f.index = {number % block_extent.x, number / block_extent.x % block_extent.y,
             number / block_extent.x / block_extent.y};
  f.is_done = false;
  f.open.clear();
  f.groups.clear();
  if (!f.stack) f.stack = std::make_unique<char[]>(kStackBytes);
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = f.stack.get();
  f.context.uc_stack.ss_size = kStackBytes;
  f.context.uc_link = nullptr;
  makecontext(&f.context, run_thread, 0);
}

void prepare(std::size_t threads) {
  block.fibers.resize(threads);
  block.warps.assign((threads + 31) / 32, {});
  for (std::size_t i = 0; i < threads; ++i) {
    ++block.warps[i / 32].expected;
    start(block.fibers[i], static_cast<unsigned>(i));
  }
  block.all = {static_cast<int>(threads), 0, 0};
  std::memset(shared_memory(), 0xff, kSharedBytes);
}

// Rounds over all threads until none is left; a round in which none moves cannot happen, since a
// thread that waits for one that is done would wait for ever.
void run_block(bool is_backward) {
  const std::size_t threads = block.fibers.size();
  std::size_t left = threads;
  for (int rounds = 0; left > 0; ++rounds) {
    ABBA_CHECK(rounds < 10'000'000);
    for (std::size_t i = 0; i < threads; ++i) {
      block.running = is_backward ? threads - 1 - i : i;
      if (fiber().is_done) continue;
      thread_index = fiber().index;
      swapcontext(&block.scheduler, &fiber().context);
      if (fiber().is_done) --left;
    }
  }
}

}  // namespace

unsigned char* shared_memory() {
  return gated_stages;
}

void run_grid(const Geometry& geometry, const std::function<void()>& kernel) {
  if (geometry.is_empty()) return;
  ABBA_CHECK(is_launchable(geometry));
  const auto extent = [](std::int64_t value) { return static_cast<unsigned>(value); };
  block_extent = {extent(geometry.block.x), extent(geometry.block.y), extent(geometry.block.z)};
  block.kernel = &kernel;
  bool is_backward = false;
  for (unsigned z = 0; z < geometry.grid.z; ++z) {
    for (unsigned y = 0; y < geometry.grid.y; ++y) {
      for (unsigned x = 0; x < geometry.grid.x; ++x, is_backward = !is_backward) {
        block_index = {x, y, z};
        prepare(std::size_t{block_extent.x} * block_extent.y * block_extent.z);
        run_block(is_backward);
      }
    }
  }
}

int lane() {
  return static_cast<int>(block.running % 32);
}

void meet_block() {
  meet(block.all, {});
}
void meet_warp(const std::function<void()>& together) {
  meet(warp(), together);
}

void leave(const void* words, int count) {
  std::memcpy(fiber().words.data(), words, static_cast<std::size_t>(count) * 4);
}
const std::uint32_t* left_by(int of) {
  return block.fibers[block.running / 32 * 32 + static_cast<std::size_t>(of)].words.data();
}

float exchange(float value, int from) {
  leave(&value, 1);
  meet_warp();
  float given = 0.0F;
  std::memcpy(&given, left_by(from), sizeof given);
  meet_warp();  // nobody leaves something new before all have read
  return given;
}

void copy_later(std::uint32_t to, const void* from, bool is_real) {
  fiber().open.push_back({to, from, is_real});
}
void close_group() {
  fiber().groups.push_back(std::move(fiber().open));
  fiber().open.clear();
}
void wait_for_groups(int pending) {
  auto& groups = fiber().groups;
  for (; groups.size() > static_cast<std::size_t>(pending); groups.pop_front()) {
    for (const Copy& copy : groups.front()) {
      ABBA_CHECK(copy.to % 16 == 0 && copy.to + 16 <= kSharedBytes);
      unsigned char* to = shared_memory() + copy.to;
      if (copy.is_real) {
        std::memcpy(to, copy.from, 16);
      } else {
        std::memset(to, 0, 16);
      }
    }
  }
}

}  // namespace abba::cuda::on_host
