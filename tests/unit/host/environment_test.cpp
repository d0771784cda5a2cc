// What a slot was exposed to, from numbers the test chooses, and the rule that taints it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "harness/host/affinity.h"
#include "harness/host/environment_watch.h"
#include "harness/host/proc_files.h"
#include "tests/unit/host/fake_system.h"

namespace abba::host::testing {
namespace {

using record::Load;

constexpr std::int64_t kMs = 1'000'000;
constexpr pid_t kActive = 77;
constexpr pid_t kIdle = 78;

class Watch : public ::testing::Test {
 protected:
  Watch() {
    system_.write("proc/loadavg", "0.25 0.1 0.1 1/2 3\n");
    system_.set_cpus({{100, 900, 0}, {200, 800, 0}});
    system_.set_process(kActive, {{kActive, 50 * kMs, 1 * kMs, 4, 2}});
    system_.set_process(kIdle, {{kIdle, 10 * kMs, 0, 0, 0}});
    EnvironmentWatch::Options options;
    options.experiment_cpus = {1};
    options.period_ms = 0;
    options.root = system_.root();
    watch_ = std::make_unique<EnvironmentWatch>(options, clock_);
    watch_->set_workers({kActive, kIdle});
  }
  // One slot of a second in which CPU 1 was busy for `busy_ticks` and the worker ran `own_ms`.
  SlotExposure slot(std::int64_t busy_ticks, std::int64_t own_ms, std::int64_t waited_ms = 0,
                    std::int64_t steal_ticks = 0, std::int64_t idle_arm_ms = 0) {
    watch_->before_slot(5, {kActive});
    clock_.advance_ns(1000 * kMs);
    system_.set_cpus({{100, 1000, 0}, {200 + busy_ticks, 800, steal_ticks}});
    system_.set_process(kActive, {{kActive, (50 + own_ms) * kMs, (1 + waited_ms) * kMs, 9, 3}}, 2);
    system_.set_process(kIdle, {{kIdle, (10 + idle_arm_ms) * kMs, 0, 0, 0}});
    return watch_->after_slot();
  }
  FakeSystem system_;
  FakeClock clock_;
  std::unique_ptr<EnvironmentWatch> watch_;
};

TEST_F(Watch, SubtractsTheWorkersOwnTime) {
  const SlotExposure exposure = slot(90, 850, 3, 1);
  EXPECT_EQ(exposure.wall_ns, 1000 * kMs);
  EXPECT_EQ(exposure.foreign_ns, 90 * cpu_tick_ns() - 850 * kMs);
  EXPECT_EQ(exposure.steal_ns, cpu_tick_ns());
  EXPECT_EQ(exposure.waited_ns, 3 * kMs);
  EXPECT_EQ(exposure.idle_arm_ns, 0);
  EXPECT_EQ(exposure.switches_involuntary, 5);
  EXPECT_EQ(exposure.migrations, 1);
  EXPECT_EQ(exposure.major_faults, 2);
}

TEST_F(Watch, AQuietSlotIsClean) {
  EXPECT_EQ(taint(slot(99, 985), Load::kQuiet), "");
}

TEST_F(Watch, ForeignLoadTaintsUnlessItIsExpected) {
  const SlotExposure exposure = slot(100, 900);
  EXPECT_EQ(taint(exposure, Load::kQuiet), "cpu-load");
  EXPECT_EQ(taint(exposure, Load::kExpected), "");
}

std::string stat_line(int pid, const char* name, char state, int cpu) {
  std::string line = std::to_string(pid) + " (" + name + ") " + state;
  for (int field = 4; field < 39; ++field) line += " 0";
  return line + " " + std::to_string(cpu) + " 0 0\n";
}

TEST_F(Watch, WhoeverIsSeenBesideTheWorkersIsNamedWhenTheCountersSaySo) {
  system_.write("proc/500/stat", stat_line(500, "cc1plus (x) y", 'R', 1));
  system_.write("proc/501/stat", stat_line(501, "elsewhere", 'R', 0));
  system_.write("proc/502/stat", stat_line(502, "asleep", 'S', 1));
  const auto seen = [&] {
    std::string text = "no reading";
    for (const auto& reading : watch_->take_readings()) {
      if (reading.key == "foreign.seen") text = reading.text;
    }
    return text;
  };
  slot(99, 985);
  EXPECT_EQ(seen(), "no reading") << "nothing disturbed";
  system_.set_cpus({{100, 900, 0}, {200, 800, 0}});
  system_.set_process(kActive, {{kActive, 50 * kMs, 1 * kMs, 4, 2}});
  slot(100, 900);
  EXPECT_EQ(seen(), "cc1plus (x) y (500)");
  std::filesystem::remove_all(system_.root().proc / "500");
  system_.set_cpus({{100, 900, 0}, {200, 800, 0}});
  system_.set_process(kActive, {{kActive, 50 * kMs, 1 * kMs, 4, 2}});
  slot(100, 900);
  EXPECT_THAT(seen(), ::testing::HasSubstr("none is visible"));
}

TEST_F(Watch, OfTwoBusyWorkersNeitherIsForeignNorIdle) {
  watch_->before_slot(1, {kActive, kIdle});
  clock_.advance_ns(1000 * kMs);
  system_.set_cpus({{100, 1000, 0}, {290, 800, 0}});
  system_.set_process(kActive, {{kActive, 500 * kMs, 1 * kMs, 4, 2}});
  system_.set_process(kIdle, {{kIdle, 450 * kMs, 0, 0, 0}});
  const SlotExposure exposure = watch_->after_slot();
  EXPECT_EQ(exposure.foreign_ns, std::max<std::int64_t>(0, 90 * cpu_tick_ns() - 890 * kMs));
  EXPECT_EQ(exposure.idle_arm_ns, -1);
  EXPECT_EQ(taint(exposure, Load::kQuiet), "");
}

TEST_F(Watch, StealTaints) {
  EXPECT_EQ(taint(slot(90, 900, 0, 10), Load::kQuiet), "cpu-load");
}

TEST_F(Watch, WaitingTaintsWhereTicksCannotSee) {
  EXPECT_EQ(taint(slot(90, 899, 25), Load::kQuiet), "cpu-load");
}

TEST_F(Watch, ABusyIdleArmTaintsAlways) {
  EXPECT_EQ(taint(slot(95, 940, 0, 0, 40), Load::kExpected), "idle-arm-busy");
}

TEST_F(Watch, WaitingOfMoreThreadsThanCpusProvesNothing) {
  watch_->before_slot(1, {kActive});
  system_.set_process(kActive, {{kActive, 60 * kMs, 0, 0, 0}, {79, 60 * kMs, 900 * kMs, 0, 0}});
  EXPECT_EQ(watch_->after_slot().waited_ns, -1);
}

TEST_F(Watch, ReadingsCarryTheSlotAndTheReasonOfWhatIsMissing) {
  slot(90, 890);
  const auto readings = watch_->take_readings();
  int load = 0;
  int unreadable = 0;
  for (const auto& reading : readings) {
    if (reading.key == "load.1m") {
      ++load;
      EXPECT_EQ(reading.slot, 5);
      EXPECT_EQ(reading.value, 0.25);
    }
    if (reading.key == "frequency.cpu1") {
      ++unreadable;
      EXPECT_THAT(reading.text, ::testing::HasSubstr("unreadable: "));
    }
  }
  EXPECT_EQ(load, 2);        // before and after
  EXPECT_EQ(unreadable, 1);  // once, not at every slot
  EXPECT_TRUE(watch_->take_readings().empty());
}

// A program that is started for each slot: no process lives when the slot ends.
TEST_F(Watch, TimeOfEndedProgramsIsNotForeign) {
  const auto children = [this](std::int64_t user_ticks, std::int64_t system_ticks) {
    system_.write("proc/self/stat", "9 (abba) S 1 1 1 0 -1 0 0 0 0 0 5 5 " +
                                        std::to_string(user_ticks) + " " +
                                        std::to_string(system_ticks) + " 20 0 1 0\n");
  };
  const auto slot_of_program = [&](std::int64_t busy_ticks) {
    children(100, 30);
    system_.set_cpus({{100, 900, 0}, {200, 800, 0}});
    watch_->before_slot(6, {0});
    clock_.advance_ns(1000 * kMs);
    system_.set_cpus({{100, 1000, 0}, {200 + busy_ticks, 800, 0}});
    children(150, 35);
    return watch_->after_slot();
  };
  const SlotExposure quiet = slot_of_program(56);
  EXPECT_EQ(quiet.foreign_ns, cpu_tick_ns());
  EXPECT_EQ(taint(quiet, Load::kQuiet), "");
  const SlotExposure busy = slot_of_program(95);
  EXPECT_EQ(busy.foreign_ns, 40 * cpu_tick_ns());
  EXPECT_EQ(taint(busy, Load::kQuiet), "cpu-load");
  std::filesystem::remove(system_.root().proc / "self/stat");
  watch_->before_slot(7, {0});
  EXPECT_EQ(watch_->after_slot().foreign_ns, -1) << "unreadable is not zero";
}

TEST_F(Watch, AVanishedWorkerIsUnreadableNotZero) {
  watch_->before_slot(1, {kActive});
  std::filesystem::remove_all(system_.root().proc / "77");
  const SlotExposure exposure = watch_->after_slot();
  EXPECT_EQ(exposure.foreign_ns, -1);
  EXPECT_EQ(exposure.migrations, -1);
  EXPECT_EQ(taint(exposure, Load::kQuiet), "");
}

TEST(Taint, RoundingAloneNeverTaints) {
  SlotExposure exposure;
  exposure.wall_ns = 100 * kMs;
  exposure.foreign_ns = 20 * kMs;
  exposure.foreign_resolution_ns = 20 * kMs;
  exposure.steal_ns = 10 * kMs;
  exposure.steal_resolution_ns = 10 * kMs;
  EXPECT_EQ(taint(exposure, Load::kQuiet), "");
  exposure.foreign_ns = 31 * kMs;
  EXPECT_EQ(taint(exposure, Load::kQuiet), "cpu-load");
}

TEST(Taint, TheLimitIsTwoPerCentOfTheWall) {
  SlotExposure exposure;
  exposure.wall_ns = 10'000 * kMs;
  exposure.foreign_ns = 199 * kMs;
  EXPECT_EQ(taint(exposure, Load::kQuiet), "");
  exposure.foreign_ns = 201 * kMs;
  EXPECT_EQ(taint(exposure, Load::kQuiet), "cpu-load");
}

TEST(Taint, LostAffinityAndSeveralReasons) {
  SlotExposure exposure;
  exposure.wall_ns = 1000 * kMs;
  exposure.worker_left_cpus = true;
  EXPECT_EQ(taint(exposure, Load::kExpected), "affinity-lost");
  exposure.foreign_ns = 500 * kMs;
  EXPECT_EQ(taint(exposure, Load::kQuiet), "cpu-load,affinity-lost");
}

// The real machine: this process burns its own CPU time, which must not count as foreign.
TEST(RealWatch, ReadsThisMachine) {
  SystemClock clock;
  EnvironmentWatch::Options options;
  options.experiment_cpus = allowed_cpus();
  options.harness_cpus = {options.experiment_cpus.front()};
  options.period_ms = 5;
  EnvironmentWatch watch(options, clock);
  watch.set_workers({::getpid()});
  watch.before_slot(1, {::getpid()});
  const std::int64_t until = clock.steady_ns() + 60 * kMs;
  std::atomic<std::int64_t> spins{0};
  while (clock.steady_ns() < until) ++spins;
  const SlotExposure exposure = watch.after_slot();
  EXPECT_GE(exposure.wall_ns, 60 * kMs);
  EXPECT_FALSE(exposure.worker_left_cpus);
  int during = 0;
  for (const auto& reading : watch.take_readings()) during += reading.moment == "during" ? 1 : 0;
  EXPECT_GT(during, 0);
}

// A program that is started for each slot has no process between them; 0 must not mean ourselves.
TEST(RealWatch, FindsNoLostAffinityWhereNoWorkerLives) {
  SystemClock clock;
  EnvironmentWatch::Options options;
  options.experiment_cpus = {4095};  // none of ours
  options.period_ms = 0;
  EnvironmentWatch watch(options, clock);
  watch.set_workers({0, 0});
  watch.before_slot(1, {0});
  const SlotExposure exposure = watch.after_slot();
  EXPECT_FALSE(exposure.worker_left_cpus);
  EXPECT_EQ(exposure.foreign_ns, -1);
}

TEST(ProcFiles, ReadOddForms) {
  FakeSystem system;
  EXPECT_TRUE(read_cpu_times(system.root()).empty());
  EXPECT_FALSE(read_process_usage(system.root(), 5).has_value());
  system.write("proc/5/stat", "5 (unfinished");
  EXPECT_FALSE(read_process_usage(system.root(), 5).has_value());
  system.write("proc/number", "12x\n");
  EXPECT_FALSE(read_whole(system.root().proc / "number").has_value());
  system.set_process(6, {});
  const auto usage = read_process_usage(system.root(), 6);
  ASSERT_TRUE(usage.has_value());  // no threads listed: the process's own ticks are used
  EXPECT_EQ(usage->cpu_ns, 23 * cpu_tick_ns());
  EXPECT_EQ(usage->waited_ns, -1);
}

}  // namespace
}  // namespace abba::host::testing
