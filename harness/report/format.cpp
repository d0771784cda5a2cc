#include "harness/report/format.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

namespace abba::report {
namespace {

// Four significant digits without an exponent.
std::string four_digits(double value) {
  if (value == 0 || !std::isfinite(value)) {
    return value == 0 ? "0" : "not a number";
  }
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  return fmt::format("{:.{}f}", value, magnitude >= 3 ? 0 : (magnitude < -6 ? 9 : 3 - magnitude));
}

// Days since 1970-01-01 of a Gregorian date (Hinnant, "chrono-Compatible Low-Level Date
// Algorithms").
std::int64_t days_from_civil(std::int64_t year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

}  // namespace

std::string time_text(double duration_ns) {
  const double size = std::fabs(duration_ns);
  if (size < 1e3) {
    return four_digits(duration_ns) + " ns";
  }
  if (size < 1e6) {
    return four_digits(duration_ns / 1e3) + " µs";
  }
  return size < 1e10 ? four_digits(duration_ns / 1e6) + " ms"
                     : four_digits(duration_ns / 1e9) + " s";
}

std::string metric_text(const std::string& metric, double value) {
  return metric == "latency" ? time_text(value) : four_digits(value);
}

std::string count_text(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t end = text.size(); end > first + 3;) {
    end -= 3;
    text.insert(end, ",");
  }
  return text;
}

std::string seconds_text(double seconds) {
  if (seconds < 120) {
    return fmt::format("{:.0f} s", seconds);
  }
  return seconds < 7200 ? fmt::format("{:.1f} min", seconds / 60)
                        : fmt::format("{:.1f} h", seconds / 3600);
}

std::int64_t unix_seconds(std::string_view utc) {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  const std::string text(utc.substr(0, 20));
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2dZ", &year, &month, &day, &hour, &minute,
                  &second) != 6 ||
      month < 1 || month > 12 || day < 1 || day > 31) {
    return -1;
  }
  return days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
}

Tone tone_of(record::Word word) {
  switch (word) {
    case record::Word::kImproved:
    case record::Word::kFaster:
      return Tone::kGood;
    case record::Word::kRegressed:
    case record::Word::kSlower:
      return Tone::kBad;
    case record::Word::kInvalid:
      return Tone::kWarn;
    case record::Word::kEquivalent:
    case record::Word::kDisjointMet:
      return Tone::kNeutral;
    default:
      return Tone::kMuted;
  }
}

Tone tone_of(record::Severity severity) {
  switch (severity) {
    case record::Severity::kInvalid:
      return Tone::kBad;
    case record::Severity::kDoubt:
      return Tone::kWarn;
    default:
      return Tone::kMuted;
  }
}

std::string counted(std::int64_t count, std::string_view noun) {
  const bool sibilant = noun.ends_with("s");
  return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : sibilant ? "es" : "s");
}

}  // namespace abba::report
