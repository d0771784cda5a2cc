// The machine around the slots: readings before and after each slot, and a sampling thread on the
// harness's CPU. Owns its thread; reads /proc, /sys and the device's probe only, never touches a
// worker. What cannot be read is recorded once, with the reason.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/host/clock.h"
#include "harness/host/device_watch.h"
#include "harness/host/identity.h"
#include "harness/record/run_record.h"

namespace abba::host {

// What a slot was exposed to. Times are CPU time on the experiment's CPUs; -1 = unreadable.
struct SlotExposure {
  std::int64_t wall_ns = 0;
  std::int64_t foreign_ns = -1;            // busy, minus the active workers' own CPU time
  std::int64_t foreign_resolution_ns = 0;  // what rounding alone can add to foreign_ns
  std::int64_t steal_ns = -1;
  std::int64_t steal_resolution_ns = 0;
  // Time threads of the active workers were ready but not running, exact to the nanosecond; -1 =
  // unreadable, or explained by their own number (more threads than CPUs).
  std::int64_t waited_ns = -1;
  std::int64_t idle_arm_ns = -1;           // CPU time of watched workers that should have been idle
  std::int64_t switches_involuntary = -1;  // of the active workers
  std::int64_t migrations = -1;
  std::int64_t major_faults = -1;
  bool worker_left_cpus = false;  // a thread of an active worker may run elsewhere
  DeviceExposure device;
};

// Coded reasons, comma separated, empty = clean. Limit: 2 % of the slot's wall, at least one 10 ms
// tick, which is all that the counters resolve.
// "cpu-load": the larger of foreign CPU time (beyond rounding) and waiting, plus steal (beyond
// rounding), above the limit; not under Load::kExpected. "idle-arm-busy": the other worker used CPU
// time above the limit. "affinity-lost": the active worker may run elsewhere. And what device_taint
// says.
std::string taint(const SlotExposure& exposure, record::Load load);
// Whether CPU time of others alone would taint, whatever the load rule says.
bool cpu_disturbed(const SlotExposure& exposure);

class EnvironmentWatch {
 public:
  struct Options {
    std::vector<int> experiment_cpus;
    std::vector<int> harness_cpus;
    double period_ms = 100;  // of the sampling thread; 0 = no thread
    SystemRoot root;
    DeviceProbe* device = nullptr;  // outlives the watch; null = no device is watched
    std::string device_uuid;
    int device_every = 2;  // of how many samples of the thread one reads the device
  };
  EnvironmentWatch(const Options& options, Clock& clock);
  ~EnvironmentWatch();
  EnvironmentWatch(const EnvironmentWatch&) = delete;
  EnvironmentWatch& operator=(const EnvironmentWatch&) = delete;

  // The live workers; call again whenever they change.
  void set_workers(const std::vector<pid_t>& pids);
  // Around one slot, or one block of interleaved requests, from the thread that runs it. `slot`
  // tags the readings; `active` are the workers that are meant to be busy (0 = none lives yet).
  void before_slot(std::int64_t slot, const std::vector<pid_t>& active);
  SlotExposure after_slot();
  // Readings since the last call, in time order, "during" ones included.
  std::vector<record::EnvironmentReading> take_readings();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace abba::host
