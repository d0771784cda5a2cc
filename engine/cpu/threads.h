// The threads of the backend: OpenMP's, so that ours and the library's are one pool. Exactly
// `count` of them run, whatever OMP_NUM_THREADS says; they inherit the affinity the process has
// when the pool starts. How work is split never shows in a result: a part is the same whoever
// computes it.
#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"

namespace abba::cpu {

// Makes library calls of this thread use `count` threads.
void use_threads(int count);

// A task over [0, count): `run(context, part, thread)` computes the part, thread in [0, threads).
struct Task {
  const void* context = nullptr;
  void (*run)(const void* context, Range part, int thread) = nullptr;
};
// `grain` indices a part; parts go to the threads in turn. With one thread one part is everything.
void run_parts(int threads, std::int64_t count, std::int64_t grain, const Task& task);

// f(Range part, int thread); nothing is allocated.
template <typename F>
void parallel(int threads, std::int64_t count, std::int64_t grain, const F& f) {
  if (threads == 1 || count <= grain) {
    if (count > 0) f(Range{0, count}, 0);
    return;
  }
  run_parts(threads, count, grain, {&f, [](const void* context, Range part, int thread) {
                                      (*static_cast<const F*>(context))(part, thread);
                                    }});
}

}  // namespace abba::cpu
