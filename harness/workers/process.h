// One child process with its three pipes: owns it from fork to reaping. It gets a process group of
// its own, CPU affinity and memory binding before exec (so that every thread inherits them), and a
// death signal for the case that the harness dies first; start it from a thread that outlives it.
// Standard error is read by a thread and kept within bounds, so that a flood neither blocks the
// child nor eats memory. The destructor kills the group and reaps.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace abba::workers {

using Deadline = std::chrono::steady_clock::time_point;
Deadline after_seconds(double seconds);

struct ProcessSpec {
  std::vector<std::string> argv;                   // argv[0] is looked up in PATH
  std::string cwd;                                 // empty = the harness's
  std::map<std::string, std::string> environment;  // laid over the harness's own
  std::vector<int> cpus;
  int memory_node = -1;
  std::function<void(std::string_view)> log;  // standard error lines, from the reading thread
  std::function<bool()>
      stop;  // asked while anything is waited for; true ends the wait; may be empty
};

enum class ReadState { kLine, kEnd, kTimeout, kTooLong, kStopped };

class Process {
 public:
  // Throws Error(kBadInput) for what cannot be asked of this machine (no such program, CPU or
  // memory node), Error(kBroken) if the system refuses.
  explicit Process(const ProcessSpec& spec);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // The line and a newline; false if the child does not read until `deadline`, is gone, or a stop
  // is asked for.
  [[nodiscard]] bool write_line(std::string_view line, Deadline deadline);
  void close_input();
  // One line of standard output without its newline, at most `max_bytes` long.
  ReadState read_line(std::string& line, std::size_t max_bytes, Deadline deadline);
  // All of standard output up to its end; kTooLong beyond `max_bytes`.
  ReadState read_to_end(std::string& text, std::size_t max_bytes, Deadline deadline);
  // Something is there that nobody asked for.
  [[nodiscard]] bool has_unread_output();

  // Whether the child has ended or is about to; leaves its wait status to be asked for.
  [[nodiscard]] bool has_ended() const;
  // The wait status once the child has ended, waiting until `deadline` or a stop.
  std::optional<int> wait(Deadline deadline);
  // SIGTERM to the group, SIGKILL to what is left after `grace_s` (or a stop); reaps. The wait
  // status.
  int terminate(double grace_s);
  [[nodiscard]] std::vector<std::string> stderr_tail() const;

 private:
  class StderrReader;
  enum class Fill { kData, kEnd, kTimeout, kStopped };
  enum class Ready { kYes, kTimeout, kStopped };
  Fill fill(Deadline deadline);
  [[nodiscard]] Ready wait_for(int fd, short events, Deadline deadline) const;
  [[nodiscard]] bool stopped() const { return stop_ && stop_(); }
  void kill_group(int signal) const;
  void reaped(int status);

  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::function<bool()> stop_;
  std::optional<int> status_;
  std::string buffer_;
  std::size_t searched_ = 0;
  std::unique_ptr<StderrReader> stderr_;
};

// "exit code 3" or "signal 9 (Killed)" of a wait status; the shell's number (128 + signal) of it.
std::string status_text(int wait_status);
int exit_code(int wait_status);

// CPUs that any thread of `pid` may run on, sorted; empty if there is no such process.
std::vector<int> allowed_cpus(pid_t pid);

struct CommandResult {
  int exit_code = 0;
  std::string output;  // standard output
  std::vector<std::string> stderr_tail;
};

// Runs a command to its end. Throws Error(kBroken) on a time-out, a stop, or more than `max_bytes`
// of output.
CommandResult run_command(const ProcessSpec& spec, double timeout_s,
                          std::size_t max_bytes = std::size_t{64} << 20U);

}  // namespace abba::workers
