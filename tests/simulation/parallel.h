// A count of replicates spread over threads so that the sums do not depend on the number of
// threads: chunks of fixed size, merged in their order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace abba::simulation {

// `one(index, total)` adds replicate `index` to `total`; T has `merge`.
template <typename T, typename One>
T sum_over(std::uint64_t count, int threads, One&& one) {
  constexpr std::uint64_t kChunk = 50;
  std::vector<T> parts((count + kChunk - 1) / kChunk);
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto work = [&] {
    try {
      for (std::size_t c = next++; c < parts.size(); c = next++) {
        for (std::uint64_t i = c * kChunk; i < std::min(count, (c + 1) * kChunk); ++i) {
          one(i, parts[c]);
        }
      }
    } catch (...) {
      const std::lock_guard guard(failure_lock);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(work);
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
  T total;
  for (const T& part : parts) {
    total.merge(part);
  }
  return total;
}

}  // namespace abba::simulation
