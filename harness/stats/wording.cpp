#include "harness/stats/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/text.h"
#include "harness/record/names.h"

namespace abba::stats {
namespace {

std::string trimmed(std::string number) {
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') {
      number.pop_back();
    }
  }
  return number;
}

std::string_view criterion_text(record::Criterion criterion) {
  switch (criterion) {
    case record::Criterion::kMet:
      return "; success criterion met";
    case record::Criterion::kNotMet:
      return "; success criterion not met";
    case record::Criterion::kUndecided:
      return "; success criterion undecided";
    case record::Criterion::kNone:
      break;
  }
  return "";
}

// "improved on w1 and w2; inconclusive on w3", in the order of the words' first appearance.
std::string words_with_workloads(const std::vector<record::Verdict>& verdicts) {
  std::vector<std::pair<record::Word, std::vector<std::string>>> groups;
  for (const record::Verdict& verdict : verdicts) {
    if (!verdict.primary) {
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.first == verdict.word; });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), {verdict.word, {}});
    }
    group->second.push_back(verdict.workload);
  }
  std::vector<std::string> parts;
  for (const auto& [word, workloads] : groups) {
    const std::string where = workloads.size() > 4 ? fmt::format("{} workloads", workloads.size())
                                                   : base::join(workloads, ", ");
    parts.push_back(fmt::format("{} on {}", record::name(word), where));
  }
  return base::join(parts, "; ");
}

}  // namespace

std::string percent(double fraction, double half_width) {
  const double value = 100 * fraction;
  int decimals = 2;
  if (half_width > 0 && std::isfinite(half_width)) {
    const int magnitude = static_cast<int>(std::floor(std::log10(100 * half_width)));
    decimals = std::clamp(1 - magnitude, 0, 4);
  }
  std::string text = fmt::format("{:+.{}f}", value, decimals);
  if (text.find_first_not_of("+-0.") == std::string::npos) {
    text.erase(0, 1);  // a zero has no sign
  }
  return text + " %";
}

std::string interval_text(const record::Interval& interval) {
  if (!interval.estimable()) {
    return "not estimable";
  }
  const double half = half_width(interval);
  return percent(interval.low, half) + " to " + percent(interval.high, half);
}

std::string level_text(double level) {
  return trimmed(fmt::format("{:.2f}", 100 * level)) + " %";
}

double half_width(const record::Interval& interval) {
  return (interval.high - interval.low) / 2;
}

record::Interval to_fraction(const record::Interval& log_interval) {
  if (!log_interval.estimable()) {
    return {};
  }
  return {std::expm1(log_interval.low), std::expm1(log_interval.high), log_interval.level};
}

std::string headline(const record::Analysis& analysis, bool exploratory) {
  std::string text = words_with_workloads(analysis.verdicts);
  if (text.empty()) {
    text = "no primary workload has a result";
  }
  if (analysis.same_hash_law) {
    text = "A/A run, the arms are equal, no speed claim: " + text;
  } else if (exploratory) {
    text = "exploratory: " + text;
  }
  return text + std::string(criterion_text(analysis.criterion));
}

}  // namespace abba::stats
