#include "harness/stats/exposure.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/stats/estimators.h"
#include "harness/stats/measured.h"
#include "harness/stats/versions.h"

namespace abba::stats {
namespace {

constexpr double kLevel = 0.95;

// One condition, summed over its keys and averaged over the slots of an arm in a pass.
struct Condition {
  std::string_view what;
  std::vector<std::string_view> keys;
  std::string_view unit;
  ExposureScale scale = ExposureScale::kAbsolute;
  double limit = -1;
  bool under_load = false;  // readings from before the slot do not count
};

const Condition kConditions[] = {
    {kSmClock, {"gpu.sm_clock"}, "MHz", ExposureScale::kRatio, kClockLimit, true},
    {"device temperature", {"gpu.temperature"}, "Celsius", ExposureScale::kAbsolute, -1, true},
    {"device power", {"gpu.power"}, "W", ExposureScale::kAbsolute, -1, true},
    {kPowerCapped, {"gpu.slot.power_capped"}, "share", ExposureScale::kShare},
    {"thermally slowed time", {"gpu.slot.thermal"}, "share", ExposureScale::kShare},
    {"foreign GPU time", {"gpu.foreign"}, "share", ExposureScale::kShare, 0},
    {"foreign plus stolen CPU time",
     {"foreign.cpu", "steal.cpu"},
     "share",
     ExposureScale::kShare,
     kForeignCpuLimit},
};

struct Mean {
  double sum = 0;
  int count = 0;
};

// (slot, key) -> mean of its readings that are numbers, under load and of all moments
struct Readings {
  std::map<std::pair<std::int64_t, std::string>, Mean> under_load;
  std::map<std::pair<std::int64_t, std::string>, Mean> all;
};

Readings readings_by_slot(const record::RunRecord& run) {
  Readings readings;
  for (const record::EnvironmentReading& reading : run.environment) {
    if (reading.slot < 0 || !reading.text.empty() || !std::isfinite(reading.value)) {
      continue;
    }
    const auto key = std::make_pair(reading.slot, reading.key);
    for (auto* map : {&readings.all, reading.moment == "before" ? nullptr : &readings.under_load}) {
      if (map != nullptr) {
        (*map)[key].sum += reading.value;
        ++(*map)[key].count;
      }
    }
  }
  return readings;
}

std::optional<double> slot_value(const Readings& readings, const record::Slot& slot,
                                 const Condition& condition) {
  const auto& map = condition.under_load ? readings.under_load : readings.all;
  double total = 0;
  bool known = false;  // a sum without its first part would be told too small
  for (const std::string_view key : condition.keys) {
    const auto found = map.find({slot.id, std::string(key)});
    if (found != map.end() && found->second.sum >= 0) {
      total += found->second.sum / found->second.count;
      known = known || key == condition.keys.front();
    }
  }
  const double wall = static_cast<double>(slot.end_ns - slot.start_ns);
  const bool is_share = condition.scale == ExposureScale::kShare;
  const bool is_ratio = condition.scale == ExposureScale::kRatio;
  if (!known || (is_share && wall <= 0) || (is_ratio && total <= 0)) {
    return std::nullopt;
  }
  return is_share ? total / wall : total;
}

// What was read of the arms of one pass, a value a slot.
struct PassReadings {
  std::vector<double> a;
  std::vector<double> b;
  bool shared = false;  // some of it holds for both arms together
};

// Interleaved arms are read together, before, during and after their block, and it is stored under
// one slot. Where both slots have readings of their own, those are the arms'.
void add_block(const Readings& readings, const record::Block& block, const Condition& condition,
               bool may_share, PassReadings& read) {
  std::vector<double> a;
  std::vector<double> b;
  for (const record::Slot& slot : block.slots) {
    if (const auto value = slot_value(readings, slot, condition)) {
      (slot.arm == "A" ? a : b).push_back(*value);
    }
  }
  if (may_share && a.empty() != b.empty()) {
    (a.empty() ? a : b) = a.empty() ? b : a;
    read.shared = true;
  }
  read.a.insert(read.a.end(), a.begin(), a.end());
  read.b.insert(read.b.end(), b.begin(), b.end());
}

PassReadings readings_of(const record::RunRecord& run, const Readings& readings,
                         const record::Pass& pass, const std::string& workload,
                         const Condition& condition) {
  const bool knows_sharing =
      rules_of(run).value_or(AnalysisRules{}).shares_conditions_of_interleaved_arms;
  PassReadings read;
  for (const record::Block* block : clean_blocks(pass, workload)) {
    add_block(readings, *block, condition, knows_sharing && interleaved(run, *block), read);
  }
  return read;
}

double difference(const ExposurePass& pass, ExposureScale scale) {
  return scale == ExposureScale::kRatio ? std::log(pass.b / pass.a) : pass.b - pass.a;
}

}  // namespace

std::vector<ExposureRow> exposure(const record::RunRecord& run,
                                  const std::vector<const record::Pass*>& passes,
                                  const std::string& workload) {
  const Readings readings = readings_by_slot(run);
  std::vector<ExposureRow> rows;
  for (const Condition& condition : kConditions) {
    ExposureRow row;
    std::vector<double> differences;
    for (const record::Pass* pass : passes) {
      const PassReadings read = readings_of(run, readings, *pass, workload, condition);
      if (read.a.empty() || read.b.empty()) {
        continue;
      }
      const ExposurePass value{pass->index, mean(read.a), mean(read.b)};
      row.passes.push_back(value);
      row.shared = row.shared || read.shared;
      row.a += value.a;
      row.b += value.b;
      differences.push_back(difference(value, condition.scale));
    }
    if (differences.empty()) {
      continue;
    }
    row.what = condition.what;
    row.unit = condition.unit;
    row.scale = condition.scale;
    row.a /= static_cast<double>(row.passes.size());
    row.b /= static_cast<double>(row.passes.size());
    if (!row.shared) {
      row.limit = condition.limit;
      row.interval = condition_interval(run, differences, kLevel);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace abba::stats
