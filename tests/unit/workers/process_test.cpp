// Processes: placement before exec, bounds, death, and no zombie left behind.
#include "harness/workers/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "tests/unit/machine.h"

namespace abba::workers {
namespace {

using base::Error;
using base::ErrorCode;

ProcessSpec shell(const std::string& script) {
  ProcessSpec spec;
  spec.argv = {"sh", "-c", script};
  return spec;
}

bool is_alive(pid_t pid) {
  return kill(pid, 0) == 0;
}

TEST(Process, SpeaksInLines) {
  Process process(shell("while read line; do echo \"<$line>\"; done"));
  std::string line;
  for (const char* text : {"one", "two words", ""}) {
    ASSERT_TRUE(process.write_line(text, after_seconds(10)));
    ASSERT_EQ(process.read_line(line, 100, after_seconds(10)), ReadState::kLine);
    EXPECT_EQ(line, "<" + std::string(text) + ">");
  }
  EXPECT_FALSE(process.has_unread_output());
  process.close_input();
  EXPECT_EQ(process.read_line(line, 100, after_seconds(10)), ReadState::kEnd);
  EXPECT_EQ(process.wait(after_seconds(10)), 0);
}

TEST(Process, ALineThatIsTooLongOrLateIsNotALine) {
  std::string line;
  Process chatty(shell("head -c 100000 /dev/zero; sleep 20"));
  EXPECT_EQ(chatty.read_line(line, 1000, after_seconds(10)), ReadState::kTooLong);
  Process silent(shell("sleep 20"));
  EXPECT_EQ(silent.read_line(line, 1000, after_seconds(0.05)), ReadState::kTimeout);
}

TEST(Process, WritingToTheDeadIsNoSignal) {
  Process process(shell("exit 4"));
  EXPECT_EQ(exit_code(process.wait(after_seconds(10)).value()), 4);
  EXPECT_FALSE(process.write_line("hello", after_seconds(1)));
}

TEST(Process, WhatItLeavesBehindDiesWithIt) {
  std::string line;
  pid_t grandchild = 0;
  {
    Process process(shell("sleep 100 & echo $!; wait"));
    ASSERT_EQ(process.read_line(line, 100, after_seconds(10)), ReadState::kLine);
    grandchild = std::stoi(line);
    EXPECT_TRUE(is_alive(grandchild));
  }
  for (int i = 0; i < 500 && is_alive(grandchild); ++i) usleep(10'000);
  EXPECT_FALSE(is_alive(grandchild));
}

TEST(Process, TerminateAsksFirstAndKillsThen) {
  Process polite(shell("trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done"));
  std::string line;
  polite.read_line(line, 100, after_seconds(10));
  EXPECT_EQ(exit_code(polite.terminate(10)), 9);
  Process deaf(shell("trap '' TERM; echo ready; while :; do sleep 0.01; done"));
  deaf.read_line(line, 100, after_seconds(10));
  EXPECT_EQ(exit_code(deaf.terminate(0.05)), 128 + SIGKILL);
  EXPECT_EQ(waitpid(deaf.pid(), nullptr, WNOHANG), -1) << "it was reaped";
}

TEST(Process, AffinityHoldsBeforeTheFirstInstructionAndIsReadBack) {
  cpu_set_t ours;
  sched_getaffinity(0, sizeof(ours), &ours);
  int cpu = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(cpu), &ours)) ++cpu;
  ProcessSpec spec = shell("grep Cpus_allowed_list /proc/self/status; read line");
  spec.cpus = {cpu};
  Process process(spec);
  std::string line;
  ASSERT_EQ(process.read_line(line, 100, after_seconds(10)), ReadState::kLine);
  EXPECT_EQ(line, "Cpus_allowed_list:\t" + std::to_string(cpu));
  EXPECT_EQ(allowed_cpus(process.pid()), std::vector<int>{cpu});
  EXPECT_TRUE(allowed_cpus(-1).empty());
}

TEST(Process, MemoryIsBound) {
  ProcessSpec spec = shell("cat /proc/self/numa_maps");
  spec.memory_node = 0;
  try {
    const CommandResult result = run_command(spec, 10);
    if (result.output.empty()) {
      ASSERT_FALSE(machine::must_run(machine::has_numa_maps()));
      GTEST_SKIP() << "this kernel shows no numa_maps";
    }
    EXPECT_THAT(result.output, testing::HasSubstr("bind:0"));
  } catch (const Error& error) {
    ASSERT_FALSE(machine::must_run(machine::can_bind_memory())) << error.what();
    GTEST_SKIP() << error.what();  // a kernel without NUMA, or a container that forbids it
  }
}

struct Refusal {
  const char* what;
  void (*change)(ProcessSpec&);
};

class ProcessRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(ProcessRefuses, WithOneSentence) {
  ProcessSpec spec = shell("true");
  GetParam().change(spec);
  try {
    const Process process(spec);
    FAIL() << "was started";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().what));
  }
}

INSTANTIATE_TEST_SUITE_P(
    BadSpecs, ProcessRefuses,
    testing::Values(Refusal{"is empty", [](ProcessSpec& s) { s.argv.clear(); }},
                    Refusal{"is no program", [](ProcessSpec& s) { s.argv[0] = "/no/such/thing"; }},
                    Refusal{"is no program", [](ProcessSpec& s) { s.argv[0] = "no-such-thing-x"; }},
                    Refusal{"no CPU -1", [](ProcessSpec& s) { s.cpus = {-1}; }},
                    Refusal{"no CPU 5000",
                            [](ProcessSpec& s) {
                              s.cpus = {0, 5000};
                            }},
                    Refusal{"cannot be had", [](ProcessSpec& s) { s.cpus = {1000}; }},
                    Refusal{"memory", [](ProcessSpec& s) { s.memory_node = 900; }},
                    Refusal{"no memory node", [](ProcessSpec& s) { s.memory_node = 100'000; }},
                    Refusal{"no folder", [](ProcessSpec& s) { s.cwd = "/no/such/folder"; }}));

TEST(Process, EnvironmentIsLaidOver) {
  ProcessSpec spec = shell("echo $ABBA_X$HOME");
  spec.environment = {{"ABBA_X", "one"}, {"HOME", "two"}};
  EXPECT_EQ(run_command(spec, 10).output, "onetwo\n");
}

TEST(Process, StandardErrorIsBoundedAndLogged) {
  std::size_t logged = 0;
  ProcessSpec spec = shell("i=0; while [ $i -lt 300 ]; do echo line $i >&2; i=$((i+1)); done");
  spec.log = [&](std::string_view) { ++logged; };
  const CommandResult result = run_command(spec, 10);
  EXPECT_EQ(logged, 300U);
  ASSERT_EQ(result.stderr_tail.size(), 100U);
  EXPECT_EQ(result.stderr_tail.back(), "line 299");
}

TEST(Process, StandardErrorIsUtf8WhateverTheProgramWrites) {
  const CommandResult result = run_command(shell("printf 'caf\\351 \\033[1m\\n' >&2"), 10);
  ASSERT_EQ(result.stderr_tail.size(), 1U);
  EXPECT_EQ(result.stderr_tail.back(), "caf\xEF\xBF\xBD  [1m");
}

TEST(Process, ACommandThatDoesNotEndOrFloodsIsGivenUp) {
  EXPECT_THROW(run_command(shell("sleep 60"), 0.05), Error);
  EXPECT_THROW(run_command(shell("yes"), 10, 100'000), Error);
  EXPECT_EQ(run_command(shell("kill -9 $$"), 10).exit_code, 137);
}

TEST(Process, DiesWithItsParent) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {  // a harness that is killed in the middle
    Process process(shell("sleep 100"));
    const pid_t pid = process.pid();
    [[maybe_unused]] const auto size = write(ends[1], &pid, sizeof(pid));
    raise(SIGKILL);
  }
  pid_t child = 0;
  ASSERT_EQ(read(ends[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
  waitpid(parent, nullptr, 0);
  for (int i = 0; i < 500 && is_alive(child); ++i) usleep(10'000);
  // In a container without an init the orphan may stay as a zombie, which runs no more.
  if (is_alive(child)) {
    const std::string stat = base::read_file("/proc/" + std::to_string(child) + "/stat");
    EXPECT_THAT(stat, testing::HasSubstr(") Z"));
  }
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace abba::workers
