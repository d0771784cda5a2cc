#include "harness/host/device_watch.h"

#include <algorithm>

namespace abba::host {
namespace {

// Counters are read at both ends of a slot; between them only what changes from moment to moment.
bool changes_quickly(const std::string& key) {
  constexpr const char* kKeys[] = {"gpu.sm_clock", "gpu.memory_clock", "gpu.temperature",
                                   "gpu.power",    "gpu.utilisation",  "gpu.throttle_reasons"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

bool readable(const DeviceState& state) {
  return std::any_of(state.readings.begin(), state.readings.end(),
                     [](const DeviceReading& reading) { return reading.problem.empty(); });
}

}  // namespace

std::vector<std::string> device_taint(const DeviceExposure& exposure) {
  std::vector<std::string> reasons;
  // A driver's own bookkeeping grows by some megabytes; a process with a context takes more.
  constexpr std::int64_t kUnlistedBytes = std::int64_t{256} << 20U;
  if (exposure.foreign_processes > 0 || exposure.unlisted_bytes > kUnlistedBytes)
    reasons.emplace_back("gpu-foreign");
  if (exposure.thermal_seen || exposure.thermal_ns > 0) reasons.emplace_back("gpu-thermal");
  if (exposure.ecc_errors > 0) reasons.emplace_back("gpu-ecc");
  if (exposure.xids > 0) reasons.emplace_back("gpu-xid");
  return reasons;
}

void DeviceWatch::unreadable(const std::string& key, const std::string& why, Readings& into) {
  if (!reported_.insert(key).second) return;
  into.push_back({-1, clock_.steady_ns(), "before", key, 0, "", "unreadable: " + why});
}

// Where process numbers are those of another namespace none of ours is listed, and as many unknown
// ones as there are workers prove nothing.
std::int64_t DeviceWatch::foreign(const DeviceState& state) const {
  if (!state.processes_problem.empty()) return -1;
  std::size_t ours = 0;
  for (const DeviceProcess& process : state.processes) ours += workers_.count(process.pid);
  const std::size_t others = state.processes.size() - ours;
  if (ours == 0 && others <= workers_.size()) return 0;
  return static_cast<std::int64_t>(others);
}

std::int64_t DeviceWatch::unlisted(const DeviceState& state) {
  const auto used = state.value("gpu.memory_used");
  if (!used || !state.processes_problem.empty()) return -1;
  auto rest = static_cast<std::int64_t>(*used);
  for (const DeviceProcess& process : state.processes) {
    if (process.memory_bytes < 0) return -1;
    rest -= process.memory_bytes;
  }
  return std::max<std::int64_t>(0, rest);
}

DeviceState DeviceWatch::read(std::int64_t slot, const char* moment, Readings& into) {
  const bool whole = std::string(moment) != "during";
  DeviceState state = probe_.read(uuid_);
  for (const DeviceReading& reading : state.readings) {
    if (!reading.problem.empty()) {
      unreadable(reading.key, reading.problem, into);
    } else if (whole || changes_quickly(reading.key)) {
      into.push_back(
          {slot, clock_.steady_ns(), moment, reading.key, reading.value, reading.unit, ""});
    }
  }
  if (!state.processes_problem.empty()) {
    unreadable("gpu.processes", state.processes_problem, into);
  } else if (whole) {
    into.push_back({slot, clock_.steady_ns(), moment, "gpu.processes",
                    static_cast<double>(state.processes.size()), "count", ""});
  }
  most_foreign_ = std::max(most_foreign_, foreign(state));
  const std::int64_t rest = unlisted(state);
  if (rest >= 0) {
    slot_unlisted_ = slot_unlisted_ < 0 ? rest : std::min(slot_unlisted_, rest);
    least_unlisted_ = least_unlisted_ < 0 ? rest : std::min(least_unlisted_, rest);
    if (whole) {
      into.push_back({slot, clock_.steady_ns(), moment, "gpu.memory_unlisted",
                      static_cast<double>(rest), "bytes", ""});
    }
  }
  const auto reasons = state.value("gpu.throttle_reasons");
  if (reasons && (static_cast<std::uint64_t>(*reasons) & kThermalReasons) != 0) {
    thermal_seen_ = true;
  }
  return state;
}

void DeviceWatch::before(std::int64_t slot, Readings& into) {
  most_foreign_ = -1;
  slot_unlisted_ = -1;
  thermal_seen_ = false;
  before_ = read(slot, "before", into);
  was_readable_ = was_readable_ || readable(before_);
}

void DeviceWatch::during(std::int64_t slot, Readings& into) {
  read(slot, "during", into);
}

std::int64_t DeviceWatch::growth(const DeviceState& now, const char* key) const {
  const auto first = before_.value(key);
  const auto last = now.value(key);
  if (!first || !last) return -1;
  return static_cast<std::int64_t>(std::max(0.0, *last - *first));
}

DeviceExposure DeviceWatch::after(std::int64_t slot, std::int64_t wall_ns, Readings& into) {
  const DeviceState now = read(slot, "after", into);
  DeviceExposure exposure;
  exposure.lost = was_readable_ && !readable(now);
  exposure.foreign_processes = most_foreign_;
  if (slot_unlisted_ >= 0) exposure.unlisted_bytes = slot_unlisted_ - least_unlisted_;
  exposure.thermal_seen = thermal_seen_;
  exposure.thermal_ns = growth(now, "gpu.throttle.thermal");
  exposure.xids = growth(now, "gpu.xid");
  for (const char* key : {"gpu.ecc.corrected", "gpu.ecc.uncorrected"}) {
    const std::int64_t errors = growth(now, key);
    if (errors >= 0) exposure.ecc_errors = std::max<std::int64_t>(0, exposure.ecc_errors) + errors;
  }
  const auto put = [&](const char* key, double value, const char* unit) {
    into.push_back({slot, clock_.steady_ns(), "after", key, value, unit, ""});
  };
  if (most_foreign_ >= 0) {
    put("gpu.foreign", most_foreign_ > 0 ? static_cast<double>(wall_ns) : 0.0, "ns");
  }
  for (const auto& [counter, key] : {std::pair{"gpu.throttle.power", "gpu.slot.power_capped"},
                                     std::pair{"gpu.throttle.thermal", "gpu.slot.thermal"}}) {
    const std::int64_t throttled_ns = growth(now, counter);
    if (throttled_ns >= 0) put(key, static_cast<double>(throttled_ns), "ns");
  }
  const auto first = before_.value("gpu.energy");
  const auto last = now.value("gpu.energy");
  if (first && last) put("gpu.slot.energy", std::max(0.0, *last - *first), "J");
  return exposure;
}

}  // namespace abba::host
