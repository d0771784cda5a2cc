#include "engine/cpu/threads.h"

#include <omp.h>

#include <algorithm>

namespace abba::cpu {

void use_threads(int count) {
  if (omp_get_max_threads() != count) omp_set_num_threads(count);
}

void run_parts(int threads, std::int64_t count, std::int64_t grain, const Task& task) {
  const std::int64_t parts = (count + grain - 1) / grain;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = part * grain;
    task.run(task.context, {begin, std::min(begin + grain, count)}, omp_get_thread_num());
  }
}

}  // namespace abba::cpu
