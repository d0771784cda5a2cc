// The device's part of the environment watch: readings around and during a slot, and what of them
// disturbs it from outside. Owned and called by EnvironmentWatch, one call at a time; touches the
// probe only. What cannot be read is recorded once, with the reason.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/host/clock.h"
#include "harness/host/device_probe.h"
#include "harness/record/run_record.h"

namespace abba::host {

// What a slot was exposed to on the device; -1 = unreadable, or no device is watched.
struct DeviceExposure {
  std::int64_t foreign_processes = -1;  // most seen at once that are not workers
  std::int64_t thermal_ns = -1;         // by the device's own counter of time slowed down by heat
  bool thermal_seen = false;            // a thermal reason was set at a reading
  std::int64_t ecc_errors = -1;         // new ones, corrected and not
  std::int64_t xids = -1;               // new ones
  bool lost = false;  // nothing of it can be read any more, though it could be before
  // Memory in use through the whole slot that no listed process accounts for, beyond the least
  // seen in this run: a process that the list does not show. What a worker that has just ended
  // leaves for a moment is not in it.
  std::int64_t unlisted_bytes = -1;
};

// "gpu-foreign", "gpu-thermal", "gpu-ecc", "gpu-xid"; empty = clean.
std::vector<std::string> device_taint(const DeviceExposure& exposure);

class DeviceWatch {
 public:
  DeviceWatch(DeviceProbe& probe, std::string uuid, Clock& clock)
      : probe_(probe), uuid_(std::move(uuid)), clock_(clock) {}

  void set_workers(const std::vector<pid_t>& pids) { workers_ = {pids.begin(), pids.end()}; }
  using Readings = std::vector<record::EnvironmentReading>;
  void before(std::int64_t slot, Readings& into);
  void during(std::int64_t slot, Readings& into);
  // `wall_ns` of the slot: foreign time is all of it where a foreign process was seen.
  DeviceExposure after(std::int64_t slot, std::int64_t wall_ns, Readings& into);

 private:
  DeviceState read(std::int64_t slot, const char* moment, Readings& into);
  [[nodiscard]] std::int64_t foreign(const DeviceState& state) const;
  void unreadable(const std::string& key, const std::string& why, Readings& into);
  // Memory in use minus that of the listed processes; -1 if either is unreadable.
  [[nodiscard]] static std::int64_t unlisted(const DeviceState& state);
  // Growth of a counter since before(); -1 if either side is unreadable.
  [[nodiscard]] std::int64_t growth(const DeviceState& now, const char* key) const;

  DeviceProbe& probe_;
  std::string uuid_;
  Clock& clock_;
  std::set<pid_t> workers_;
  std::set<std::string> reported_;
  DeviceState before_;
  std::int64_t most_foreign_ = -1;
  std::int64_t least_unlisted_ = -1;  // of the run
  std::int64_t slot_unlisted_ = -1;   // least of the slot
  bool thermal_seen_ = false;
  bool was_readable_ = false;
};

}  // namespace abba::host
