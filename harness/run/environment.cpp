#include "harness/run/collaborators.h"

namespace abba::run {
namespace {

class WatchedEnvironment final : public Environment {
 public:
  WatchedEnvironment(const host::EnvironmentWatch::Options& options, host::Clock& clock)
      : watch_(options, clock) {}
  void set_workers(const std::vector<pid_t>& pids) override { watch_.set_workers(pids); }
  void before_slot(std::int64_t slot, const std::vector<pid_t>& active) override {
    watch_.before_slot(slot, active);
  }
  host::SlotExposure after_slot() override { return watch_.after_slot(); }
  std::vector<record::EnvironmentReading> take_readings() override {
    return watch_.take_readings();
  }

 private:
  host::EnvironmentWatch watch_;
};

}  // namespace

std::unique_ptr<Environment> watch_environment(const host::EnvironmentWatch::Options& options,
                                               host::Clock& clock) {
  return std::make_unique<WatchedEnvironment>(options, clock);
}

}  // namespace abba::run
