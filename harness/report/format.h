// Numbers of a report as text: durations, counts, times of day.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/record/verdict.h"
#include "harness/report/document.h"

namespace abba::report {

// Four significant digits with the fitting unit: "842.1 µs", "1.523 ms", "12.40 s".
[[nodiscard]] std::string time_text(double duration_ns);
// The same for a metric: a time for latency, else a plain number with four significant digits.
[[nodiscard]] std::string metric_text(const std::string& metric, double value);
// "1,234,567".
[[nodiscard]] std::string count_text(std::int64_t count);
// "3.4 min", "12 s".
[[nodiscard]] std::string seconds_text(double seconds);
// Seconds since 1970 of "2026-01-02T03:04:05Z"; -1 if it is no such text.
[[nodiscard]] std::int64_t unix_seconds(std::string_view utc);
// Good, bad, ... of a verdict word and of a severity.
[[nodiscard]] Tone tone_of(record::Word word);
[[nodiscard]] Tone tone_of(record::Severity severity);
// "n passes": plural of a regular noun.
[[nodiscard]] std::string counted(std::int64_t count, std::string_view noun);

}  // namespace abba::report
