// Time as the harness sees it, replaceable in tests. steady_ns never goes back; utc is for names
// and records only, never for durations.
#pragma once

#include <cstdint>

namespace abba::host {

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::int64_t steady_ns() = 0;    // CLOCK_MONOTONIC
  [[nodiscard]] virtual std::int64_t utc_seconds() = 0;  // since 1970
  virtual void sleep_ns(std::int64_t duration_ns) = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t steady_ns() override;
  [[nodiscard]] std::int64_t utc_seconds() override;
  void sleep_ns(std::int64_t duration_ns) override;
};

// Moves only when told or slept on; `tick_ns` is added at every read.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(std::int64_t start_ns = 0, std::int64_t tick_ns = 0)
      : now_ns_(start_ns), tick_ns_(tick_ns) {}
  [[nodiscard]] std::int64_t steady_ns() override { return now_ns_ += tick_ns_; }
  [[nodiscard]] std::int64_t utc_seconds() override { return utc_base_ + now_ns_ / 1'000'000'000; }
  void sleep_ns(std::int64_t duration_ns) override { now_ns_ += duration_ns; }
  void advance_ns(std::int64_t duration_ns) { now_ns_ += duration_ns; }
  void set_utc_base(std::int64_t unix_seconds) { utc_base_ = unix_seconds; }

 private:
  std::int64_t now_ns_;
  std::int64_t tick_ns_;
  std::int64_t utc_base_ = 1'700'000'000;
};

// Median cost of one steady_ns() call over `rounds` batches of 1000, nanoseconds.
double clock_read_cost_ns(Clock& clock, int rounds = 21);

}  // namespace abba::host
