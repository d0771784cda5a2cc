// Every rule of abba.worker/1 that `abba worker-check` judges: a stable id and what it demands, in
// the order in which they are judged and printed. The kit's README lists them too (a test
// compares).
#pragma once

#include <span>
#include <string_view>

namespace abba::workers {

struct ConformanceRule {
  std::string_view id;
  std::string_view demand;
};

[[nodiscard]] std::span<const ConformanceRule> conformance_rules();

}  // namespace abba::workers
