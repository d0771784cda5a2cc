#include "harness/host/environment_watch.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/host/affinity.h"
#include "harness/host/proc_files.h"

namespace abba::host {
namespace {

namespace fs = std::filesystem;

constexpr double kTaintShare = 0.02;
constexpr std::int64_t kLeastTaintNs = 10'000'000;

std::int64_t beyond(std::int64_t measured_ns, std::int64_t resolution_ns) {
  return std::max<std::int64_t>(0, measured_ns - resolution_ns);
}

// Counter differences; -1 if either side is unreadable.
std::int64_t since(std::int64_t before, std::int64_t after) {
  return before < 0 || after < 0 ? -1 : std::max<std::int64_t>(0, after - before);
}

// Of CPU time that is not the active workers'.
std::int64_t limit_of(const SlotExposure& exposure) {
  return std::max(kLeastTaintNs,
                  static_cast<std::int64_t>(kTaintShare * static_cast<double>(exposure.wall_ns)));
}

struct Snapshot {
  std::int64_t time_ns = 0;
  std::map<int, CpuTimes> cpus;
  std::map<pid_t, ProcessUsage> workers;
  std::int64_t children_ns = -1;  // of programs that have ended
};

}  // namespace

bool cpu_disturbed(const SlotExposure& exposure) {
  const std::int64_t foreign_ns = beyond(exposure.foreign_ns, exposure.foreign_resolution_ns);
  const std::int64_t steal_ns = beyond(exposure.steal_ns, exposure.steal_resolution_ns);
  return std::max(foreign_ns, exposure.waited_ns) + steal_ns > limit_of(exposure);
}

std::string taint(const SlotExposure& exposure, record::Load load) {
  std::vector<std::string> reasons;
  if (load == record::Load::kQuiet && cpu_disturbed(exposure)) reasons.emplace_back("cpu-load");
  if (exposure.idle_arm_ns > limit_of(exposure)) reasons.emplace_back("idle-arm-busy");
  if (exposure.worker_left_cpus) reasons.emplace_back("affinity-lost");
  for (std::string& reason : device_taint(exposure.device)) reasons.push_back(std::move(reason));
  return base::join(reasons, ",");
}

struct EnvironmentWatch::Impl {
  Impl(Options wished, Clock& given) : options(std::move(wished)), clock(given) {
    find_temperature();
    if (options.device != nullptr) device.emplace(*options.device, options.device_uuid, clock);
    if (options.period_ms > 0) sampler = std::thread([this] { sample_until_stopped(); });
  }
  ~Impl() {
    {
      const std::lock_guard<std::mutex> guard(mutex);
      stopping = true;
    }
    wake.notify_all();
    if (sampler.joinable()) sampler.join();
  }

  Options options;
  Clock& clock;
  std::mutex mutex;  // of everything below
  std::condition_variable wake;
  bool stopping = false;
  std::vector<pid_t> workers;
  std::vector<record::EnvironmentReading> readings;
  std::set<std::string> reported;  // unreadable keys that were recorded already
  std::int64_t slot = -1;
  std::vector<pid_t> active;
  Snapshot before;
  std::map<int, CpuTimes> last_sample;
  std::int64_t last_sample_ns = 0;
  fs::path temperature_file;
  std::optional<DeviceWatch> device;
  int samples = 0;
  std::thread sampler;

  void find_temperature() {
    std::error_code error;
    for (const char* folder : {"class/thermal", "class/hwmon"}) {
      for (fs::directory_iterator it(options.root.sys / folder, error), end;
           !error && it != end && temperature_file.empty(); it.increment(error)) {
        for (const char* name : {"temp", "temp1_input"}) {
          if (read_whole(it->path() / name)) temperature_file = it->path() / name;
        }
      }
    }
  }

  void put(const char* moment, const std::string& key, double value, const char* unit) {
    readings.push_back({slot, clock.steady_ns(), moment, key, value, unit, ""});
  }

  void unreadable(const std::string& key, const std::string& why) {
    if (!reported.insert(key).second) return;
    readings.push_back({-1, clock.steady_ns(), "before", key, 0, "", "unreadable: " + why});
  }

  void put_system(const char* moment) {
    const auto load = read_line(options.root.proc / "loadavg");
    if (load) {
      put(moment, "load.1m", std::strtod(load->c_str(), nullptr), "processes");
    } else {
      unreadable("load.1m", (options.root.proc / "loadavg").string());
    }
    for (const int cpu : options.experiment_cpus) {
      const std::string number = std::to_string(cpu);
      const fs::path file =
          options.root.sys / "devices/system/cpu" / ("cpu" + number) / "cpufreq/scaling_cur_freq";
      const auto khz = read_whole(file);
      if (khz) {
        put(moment, "frequency.cpu" + number, static_cast<double>(*khz) / 1000, "MHz");
      } else {
        unreadable("frequency.cpu" + number, file.string() + " is not there");
      }
    }
    const auto temperature = read_whole(temperature_file);
    if (temperature) {
      put(moment, "temperature", static_cast<double>(*temperature) / 1000, "Celsius");
    } else {
      unreadable("temperature", "no thermal zone or hardware monitor is visible");
    }
  }

  Snapshot snapshot() {
    Snapshot now;
    now.time_ns = clock.steady_ns();
    now.cpus = read_cpu_times(options.root);
    now.children_ns = read_children_cpu_ns(options.root);
    for (const pid_t pid : workers) {
      const auto usage = read_process_usage(options.root, pid);
      if (usage) now.workers[pid] = *usage;
    }
    if (now.cpus.empty()) unreadable("cpu.busy", (options.root.proc / "stat").string());
    return now;
  }

  void put_sample() {
    put_system("during");
    const std::int64_t now_ns = clock.steady_ns();
    const std::map<int, CpuTimes> now = read_cpu_times(options.root);
    for (const int cpu : options.experiment_cpus) {
      if (now.count(cpu) == 0 || last_sample.count(cpu) == 0 || now_ns <= last_sample_ns) continue;
      const double wall = static_cast<double>(now_ns - last_sample_ns);
      const CpuTimes& earlier = last_sample.at(cpu);
      const std::string name = ".cpu" + std::to_string(cpu);
      put("during", "busy" + name,
          static_cast<double>(now.at(cpu).busy_ns - earlier.busy_ns) / wall, "share");
      put("during", "steal" + name,
          static_cast<double>(now.at(cpu).steal_ns - earlier.steal_ns) / wall, "share");
    }
    last_sample = now;
    last_sample_ns = now_ns;
    if (device && ++samples % std::max(1, options.device_every) == 0) {
      device->during(slot, readings);
    }
  }

  void sample_until_stopped() {
    try {
      if (!options.harness_cpus.empty()) set_thread_affinity(options.harness_cpus);
    } catch (const base::Error& error) {
      const std::lock_guard<std::mutex> guard(mutex);
      unreadable("sampler.affinity", error.what());
    }
    const auto period = std::chrono::duration<double, std::milli>(options.period_ms);
    std::unique_lock<std::mutex> lock(mutex);
    while (!wake.wait_for(lock, period, [this] { return stopping; })) put_sample();
  }

  void compare_cpus(const Snapshot& after, SlotExposure& exposure) const {
    std::int64_t busy_ns = 0;
    std::int64_t steal_ns = 0;
    for (const int cpu : options.experiment_cpus) {
      if (before.cpus.count(cpu) == 0 || after.cpus.count(cpu) == 0) return;
      busy_ns += after.cpus.at(cpu).busy_ns - before.cpus.at(cpu).busy_ns;
      steal_ns += after.cpus.at(cpu).steal_ns - before.cpus.at(cpu).steal_ns;
    }
    const auto cpus = static_cast<std::int64_t>(options.experiment_cpus.size());
    exposure.steal_ns = std::max<std::int64_t>(0, steal_ns);
    exposure.steal_resolution_ns = cpus * cpu_tick_ns();
    // A program that is started for each slot has ended by now: its time is that of our children.
    const bool ended = none_lives();
    const std::int64_t own_ns = ended ? since(before.children_ns, after.children_ns)
                                      : active_delta(after, &ProcessUsage::cpu_ns);
    if (own_ns < 0) return;
    exposure.foreign_ns = std::max<std::int64_t>(0, busy_ns - own_ns);
    exposure.foreign_resolution_ns = (cpus + (ended ? 2 : 1)) * cpu_tick_ns();
  }

  std::int64_t worker_delta(const Snapshot& after, pid_t pid,
                            std::int64_t ProcessUsage::*field) const {
    const auto first = before.workers.find(pid);
    const auto second = after.workers.find(pid);
    if (first == before.workers.end() || second == after.workers.end()) return -1;
    return since(first->second.*field, second->second.*field);
  }

  [[nodiscard]] bool none_lives() const {
    return std::none_of(active.begin(), active.end(), [](pid_t pid) { return pid > 0; });
  }

  [[nodiscard]] bool is_active(pid_t pid) const {
    return std::find(active.begin(), active.end(), pid) != active.end();
  }

  // Of all active workers together; -1 if one of them is unreadable.
  std::int64_t active_delta(const Snapshot& after, std::int64_t ProcessUsage::*field) const {
    std::int64_t sum = active.empty() ? -1 : 0;
    for (const pid_t pid : active) {
      const std::int64_t delta = worker_delta(after, pid, field);
      sum = delta < 0 || sum < 0 ? -1 : sum + delta;
    }
    return sum;
  }

  void compare_workers(const Snapshot& after, SlotExposure& exposure) const {
    exposure.switches_involuntary = active_delta(after, &ProcessUsage::switches_involuntary);
    exposure.migrations = active_delta(after, &ProcessUsage::migrations);
    exposure.major_faults = active_delta(after, &ProcessUsage::major_faults);
    const bool explained = std::any_of(active.begin(), active.end(), [&](pid_t pid) {
      const auto usage = after.workers.find(pid);
      return usage != after.workers.end() &&
             usage->second.threads > static_cast<int>(options.experiment_cpus.size());
    });
    if (!explained) exposure.waited_ns = active_delta(after, &ProcessUsage::waited_ns);
    for (const auto& [pid, unused] : after.workers) {
      const std::int64_t cpu_ns =
          is_active(pid) ? -1 : worker_delta(after, pid, &ProcessUsage::cpu_ns);
      if (cpu_ns >= 0)
        exposure.idle_arm_ns = std::max<std::int64_t>(0, exposure.idle_arm_ns) + cpu_ns;
    }
  }

  void put_exposure(const SlotExposure& exposure) {
    const auto put_known = [this](const char* key, std::int64_t value, const char* unit) {
      if (value >= 0) {
        put("after", key, static_cast<double>(value), unit);
      } else {
        unreadable(key, "the kernel's counters do not give it");
      }
    };
    put_known("foreign.cpu", exposure.foreign_ns, "ns");
    put_known("steal.cpu", exposure.steal_ns, "ns");
    put_known("worker.waited", exposure.waited_ns, "ns");
    put_known("worker.switches_involuntary", exposure.switches_involuntary, "count");
    put_known("worker.migrations", exposure.migrations, "count");
    put_known("worker.major_faults", exposure.major_faults, "count");
    if (exposure.idle_arm_ns >= 0) put_known("idle_arm.cpu", exposure.idle_arm_ns, "ns");
  }

  // The counters say that something else ran; the process list says what is running now. Only then,
  // since walking the list costs a millisecond or more.
  void put_company() {
    std::vector<std::string> names;
    for (const RunningProcess& process : read_running(options.root, options.experiment_cpus)) {
      const bool ours = std::find(workers.begin(), workers.end(), process.pid) != workers.end();
      if (ours || process.pid == ::getpid()) continue;
      names.push_back(process.name + " (" + std::to_string(process.pid) + ")");
    }
    constexpr std::size_t kMost = 5;
    const std::size_t count = names.size();
    names.resize(std::min(count, kMost));
    put("after", "foreign.running", static_cast<double>(count), "processes");
    readings.push_back({slot, clock.steady_ns(), "after", "foreign.seen", 0, "",
                        names.empty()
                            ? "none is visible: it ended, or belongs to another container "
                              "or virtual machine"
                            : base::join(names, ", ")});
  }

  [[nodiscard]] bool left_cpus() const {
    if (options.experiment_cpus.empty() || options.root.proc != fs::path("/proc")) return false;
    return std::any_of(active.begin(), active.end(), [this](pid_t pid) { return left_cpus(pid); });
  }

  [[nodiscard]] bool left_cpus(pid_t pid) const {
    // No process lives between the slots of a program that is started for each; 0 would mean us.
    if (pid <= 0) return false;
    try {
      const AppliedAffinity applied = read_affinity(pid, options.experiment_cpus);
      return std::any_of(applied.cpus.begin(), applied.cpus.end(), [this](int cpu) {
        return std::find(options.experiment_cpus.begin(), options.experiment_cpus.end(), cpu) ==
               options.experiment_cpus.end();
      });
    } catch (const base::Error&) {
      return false;  // the worker is gone: its block fails for that reason
    }
  }
};

EnvironmentWatch::EnvironmentWatch(const Options& options, Clock& clock)
    : impl_(std::make_unique<Impl>(options, clock)) {}

EnvironmentWatch::~EnvironmentWatch() = default;

void EnvironmentWatch::set_workers(const std::vector<pid_t>& pids) {
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  impl_->workers = pids;
  if (impl_->device) impl_->device->set_workers(pids);
}

void EnvironmentWatch::before_slot(std::int64_t slot, const std::vector<pid_t>& active) {
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  impl_->slot = slot;
  impl_->active = active;
  impl_->put_system("before");
  if (impl_->device) impl_->device->before(slot, impl_->readings);
  impl_->before = impl_->snapshot();
}

SlotExposure EnvironmentWatch::after_slot() {
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  const Snapshot after = impl_->snapshot();
  SlotExposure exposure;
  exposure.wall_ns = after.time_ns - impl_->before.time_ns;
  impl_->compare_cpus(after, exposure);
  impl_->compare_workers(after, exposure);
  exposure.worker_left_cpus = impl_->left_cpus();
  impl_->put_system("after");
  impl_->put_exposure(exposure);
  if (cpu_disturbed(exposure)) impl_->put_company();
  if (impl_->device) {
    exposure.device = impl_->device->after(impl_->slot, exposure.wall_ns, impl_->readings);
  }
  impl_->slot = -1;
  return exposure;
}

std::vector<record::EnvironmentReading> EnvironmentWatch::take_readings() {
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  std::vector<record::EnvironmentReading> result;
  result.swap(impl_->readings);
  return result;
}

}  // namespace abba::host
