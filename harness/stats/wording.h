// Numbers and sentences of verdicts, so that every document says the same thing in the same digits.
#pragma once

#include <string>

#include "harness/record/verdict.h"

namespace abba::stats {

// A fraction in per cent with its sign, to the digits that `half_width` (a fraction) supports: two
// significant digits of the half width, at most four decimals. Without one (<= 0): two decimals.
// "-3.2 %", "+0.041 %".
[[nodiscard]] std::string percent(double fraction, double half_width = 0);

// "-3.0 % to -1.2 %", or "not estimable".
[[nodiscard]] std::string interval_text(const record::Interval& interval);

// A level: "97.5 %", "98.33 %".
[[nodiscard]] std::string level_text(double level);

[[nodiscard]] double half_width(const record::Interval& interval);

// exp(x) - 1 at both ends; levels stay.
[[nodiscard]] record::Interval to_fraction(const record::Interval& log_interval);

// One sentence for the whole run: words of the primary workloads, then the criterion.
[[nodiscard]] std::string headline(const record::Analysis& analysis, bool exploratory);

}  // namespace abba::stats
