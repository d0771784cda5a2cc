#include "harness/workers/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/workers/launch.h"
#include "harness/workers/stderr_reader.h"

namespace abba::workers {
namespace {

using base::Error;
using base::ErrorCode;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Milliseconds until `deadline`, rounded up, for poll(); 0 when it has passed.
int milliseconds_left(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000));
}

// write() to a pipe whose reader may be gone, without the SIGPIPE that would end the harness: the
// signal is blocked in this thread and, if it was raised, taken away again.
ssize_t write_quietly(int fd, const char* data, std::size_t size) {
  sigset_t pipe_only;
  sigset_t before;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  const ssize_t written = write(fd, data, size);
  const int error = errno;
  if (written < 0 && error == EPIPE && sigismember(&before, SIGPIPE) == 0) {
    const timespec none{};
    sigtimedwait(&pipe_only, nullptr, &none);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

}  // namespace

Deadline after_seconds(double seconds) {
  return steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(
                                   std::chrono::duration<double>(std::min(seconds, 1e8)));
}

Process::Process(const ProcessSpec& spec) : stop_(spec.stop) {
  const Launched launched = launch(spec);
  pid_ = launched.pid;
  input_ = launched.input;
  output_ = launched.output;
  fcntl(input_, F_SETFL, O_NONBLOCK);
  fcntl(output_, F_SETFL, O_NONBLOCK);
  stderr_ = std::make_unique<StderrReader>(launched.error, spec.log);
}

Process::~Process() {
  terminate(0);
  close_input();
  close(output_);
}

void Process::close_input() {
  if (input_ >= 0) close(std::exchange(input_, -1));
}

// Wakes at each signal, and every tenth of a second where there is a stop to ask for.
Process::Ready Process::wait_for(int fd, short events, Deadline deadline) const {
  constexpr milliseconds kLook(100);
  for (;;) {
    const Deadline look = stop_ ? std::min(deadline, steady_clock::now() + kLook) : deadline;
    pollfd watched{fd, events, 0};
    const int ready = poll(&watched, 1, milliseconds_left(look));
    if (ready > 0) return Ready::kYes;
    if (stopped()) return Ready::kStopped;
    if (ready < 0 && errno != EINTR) return Ready::kTimeout;
    if (steady_clock::now() >= deadline) return Ready::kTimeout;
  }
}

bool Process::write_line(std::string_view line, Deadline deadline) {
  const std::string text = std::string(line) + "\n";
  std::size_t done = 0;
  while (done < text.size() && input_ >= 0) {
    const ssize_t written = write_quietly(input_, text.data() + done, text.size() - done);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      if (wait_for(input_, POLLOUT, deadline) != Ready::kYes) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return done == text.size();
}

Process::Fill Process::fill(Deadline deadline) {
  std::array<char, 65536> part;
  for (;;) {
    const ssize_t size = read(output_, part.data(), part.size());
    if (size > 0) {
      buffer_.append(part.data(), static_cast<std::size_t>(size));
      return Fill::kData;
    }
    if (size == 0) return Fill::kEnd;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return Fill::kEnd;
    const Ready ready = wait_for(output_, POLLIN, deadline);
    if (ready != Ready::kYes) return ready == Ready::kStopped ? Fill::kStopped : Fill::kTimeout;
  }
}

ReadState Process::read_line(std::string& line, std::size_t max_bytes, Deadline deadline) {
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (std::min(end, buffer_.size()) > max_bytes) return ReadState::kTooLong;
    if (end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return ReadState::kLine;
    }
    searched_ = buffer_.size();
    const Fill filled = fill(deadline);
    if (filled == Fill::kEnd) return ReadState::kEnd;
    if (filled == Fill::kStopped || stopped()) return ReadState::kStopped;
    if (filled == Fill::kTimeout || steady_clock::now() > deadline) return ReadState::kTimeout;
  }
}

ReadState Process::read_to_end(std::string& text, std::size_t max_bytes, Deadline deadline) {
  Fill filled = Fill::kData;
  while ((filled = fill(deadline)) == Fill::kData) {
    if (buffer_.size() > max_bytes) return ReadState::kTooLong;
    if (stopped()) return ReadState::kStopped;
    if (steady_clock::now() > deadline) return ReadState::kTimeout;
  }
  if (filled == Fill::kStopped) return ReadState::kStopped;
  text = std::exchange(buffer_, std::string());
  searched_ = 0;
  return filled == Fill::kEnd ? ReadState::kEnd : ReadState::kTimeout;
}

bool Process::has_unread_output() {
  if (buffer_.empty()) fill(steady_clock::now());
  return !buffer_.empty();
}

void Process::kill_group(int signal) const {
  if (kill(-pid_, signal) != 0 && !status_) kill(pid_, signal);
}

void Process::reaped(int status) {
  status_ = status;
  kill_group(SIGKILL);  // whatever the child left behind
  stderr_->stop();
}

bool Process::has_ended() const {
  // One that is being killed loses its memory before it counts as ended.
  const std::string maps = "/proc/" + std::to_string(pid_) + "/maps";
  const int memory = open(maps.c_str(), O_RDONLY | O_CLOEXEC);
  char byte = 0;
  const bool has_memory = memory >= 0 && read(memory, &byte, 1) == 1;
  if (memory >= 0) close(memory);
  if (!has_memory) return true;
  siginfo_t ended{};
  return status_ ||
         waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         ended.si_pid == pid_;
}

std::optional<int> Process::wait(Deadline deadline) {
  // Short at first: the wall time of a program is taken around this.
  std::chrono::microseconds pause(20);
  while (!status_) {
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno == ECHILD)) {
      reaped(status);
    } else if (steady_clock::now() >= deadline || stopped()) {
      break;
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min<std::chrono::microseconds>(2 * pause, milliseconds(1));
    }
  }
  return status_;
}

int Process::terminate(double grace_s) {
  if (!status_ && grace_s > 0) {
    kill_group(SIGTERM);
    wait(after_seconds(grace_s));
  }
  if (!status_) {
    kill_group(SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped(status);
  }
  return *status_;
}

std::vector<std::string> Process::stderr_tail() const {
  return stderr_->tail();
}

std::string status_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "exit code " + std::to_string(WEXITSTATUS(wait_status));
}

int exit_code(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

CommandResult run_command(const ProcessSpec& spec, double timeout_s, std::size_t max_bytes) {
  Process process(spec);
  process.close_input();
  CommandResult result;
  const Deadline deadline = after_seconds(timeout_s);
  const ReadState state = process.read_to_end(result.output, max_bytes, deadline);
  if (state == ReadState::kTooLong) {
    throw Error(ErrorCode::kBroken, spec.argv[0],
                "printed more than " + std::to_string(max_bytes) + " bytes");
  }
  const std::optional<int> status = process.wait(deadline);
  if (!status && (state == ReadState::kStopped || (spec.stop && spec.stop()))) {
    throw Error(ErrorCode::kBroken, spec.argv[0], "was stopped on request");
  }
  if (!status) {
    throw Error(ErrorCode::kBroken, spec.argv[0],
                "did not end within " + std::to_string(static_cast<int>(timeout_s)) + " s");
  }
  result.exit_code = exit_code(*status);
  result.stderr_tail = process.stderr_tail();
  return result;
}

}  // namespace abba::workers
