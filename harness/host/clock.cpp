#include "harness/host/clock.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <vector>

namespace abba::host {

std::int64_t SystemClock::steady_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::int64_t SystemClock::utc_seconds() {
  return static_cast<std::int64_t>(::time(nullptr));
}

void SystemClock::sleep_ns(std::int64_t duration_ns) {
  if (duration_ns <= 0) return;
  timespec rest{static_cast<time_t>(duration_ns / 1'000'000'000),
                static_cast<long>(duration_ns % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR) {
  }
}

double clock_read_cost_ns(Clock& clock, int rounds) {
  constexpr int kReads = 1000;
  std::vector<double> costs;
  for (int round = 0; round < std::max(1, rounds); ++round) {
    const std::int64_t start = clock.steady_ns();
    std::int64_t last = start;
    for (int i = 0; i < kReads; ++i) last = clock.steady_ns();
    costs.push_back(static_cast<double>(last - start) / kReads);
  }
  std::nth_element(costs.begin(), costs.begin() + static_cast<long>(costs.size() / 2), costs.end());
  return costs[costs.size() / 2];
}

}  // namespace abba::host
