#include "harness/stats/negative_controls.h"

#include <cmath>
#include <optional>
#include <utility>

#include "harness/stats/estimators.h"
#include "harness/stats/intervals.h"
#include "harness/stats/measured.h"
#include "harness/stats/versions.h"
#include "harness/stats/wording.h"

namespace abba::stats {
namespace {

constexpr double kLevel = 0.95;

// Log of the span's mean time; nothing without a positive total.
std::optional<double> slot_value(const record::Slot& slot, const std::string& name) {
  double duration = 0;
  double count = 0;
  for (const record::Span& span : slot.spans) {
    if (span.seq < 0 && span.name == name) {
      duration += static_cast<double>(span.duration_ns);
      count += static_cast<double>(span.count);
    }
  }
  if (slot.failures > 0 || !(duration > 0) || !(count > 0)) {
    return std::nullopt;
  }
  return std::log(duration / count);
}

std::optional<double> block_contrast(const record::Block& block, const std::string& name) {
  double sum[2] = {0, 0};
  double count[2] = {0, 0};
  for (const record::Slot& slot : block.slots) {
    if (const auto value = slot_value(slot, name)) {
      sum[slot.arm == "B" ? 1 : 0] += *value;
      count[slot.arm == "B" ? 1 : 0] += 1;
    }
  }
  if (count[0] == 0 || count[0] != count[1]) {
    return std::nullopt;
  }
  return (sum[1] - sum[0]) / count[0];
}

std::vector<double> pass_values(const std::vector<const record::Pass*>& passes,
                                const std::string& workload, const std::string& name) {
  std::vector<double> values;
  for (const record::Pass* pass : passes) {
    std::vector<double> contrasts;
    for (const record::Block* block : clean_blocks(*pass, workload)) {
      if (const auto contrast = block_contrast(*block, name)) {
        contrasts.push_back(*contrast);
      }
    }
    if (!contrasts.empty()) {
      values.push_back(hodges_lehmann(std::move(contrasts)));
    }
  }
  return values;
}

ControlState state_of(const record::Interval& at90, const record::Interval& at95, double limit) {
  if (at90.low > -limit && at90.high < limit) {
    return ControlState::kStill;
  }
  return at95.low > 0 || at95.high < 0 ? ControlState::kMoved : ControlState::kUndecided;
}

}  // namespace

std::vector<ControlRow> negative_controls(const record::RunRecord& run,
                                          const std::vector<const record::Pass*>& passes,
                                          const std::string& workload, double limit) {
  std::vector<ControlRow> rows;
  for (const std::string& name : run.manifest.success.controls) {
    ControlRow row;
    row.span = name;
    const std::vector<double> values = pass_values(passes, workload, name);
    row.passes = static_cast<int>(values.size());
    if (row.passes >= 2) {
      row.effect = std::expm1(mean(values));
      row.interval = to_fraction(condition_interval(run, values, kLevel));
      row.state = state_of(to_fraction(condition_interval(run, values, 0.90)), row.interval, limit);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace abba::stats
