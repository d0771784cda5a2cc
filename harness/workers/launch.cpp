#include "harness/workers/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "engine/base/error.h"
#include "harness/workers/executable.h"

extern char** environ;

namespace abba::workers {
namespace {

using base::Error;
using base::ErrorCode;

// Both ends of a pipe, close-on-exec and above the standard descriptors.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw Error(ErrorCode::kBroken, "pipe", base::errno_text(errno));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      ends_[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, 3);
      close(ends[i]);
    }
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int reading() const { return ends_[0]; }
  [[nodiscard]] int writing() const { return ends_[1]; }
  int release(std::size_t end) { return std::exchange(ends_[end], -1); }
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) close(std::exchange(ends_[end], -1));
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

// Which step failed, told through a pipe that a successful exec closes.
enum class Step : int { kAffinity, kMemory, kFolder, kExec };
struct Failure {
  Step step;
  int error;
};

// All that the child needs, laid out before fork: between fork and exec nothing may allocate.
struct Image {
  std::string path;
  std::vector<char*> argv;
  std::vector<char*> envp;
  const char* cwd = nullptr;
  bool set_cpus = false;
  cpu_set_t cpus{};
  bool set_memory = false;
  std::array<unsigned long, 16> nodes{};
  pid_t parent = 0;
  int input = -1, output = -1, error = -1, report = -1;
};

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (additions.count(text.substr(0, text.find('='))) == 0) merged.push_back(text);
  }
  for (const auto& [name, value] : additions) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void set_placement(Image& image, const ProcessSpec& spec) {
  CPU_ZERO(&image.cpus);
  for (const int cpu : spec.cpus) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) {
      throw Error(ErrorCode::kBadInput, "affinity", "there is no CPU " + std::to_string(cpu));
    }
    CPU_SET(static_cast<std::size_t>(cpu), &image.cpus);
    image.set_cpus = true;
  }
  constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  if (spec.memory_node >= 0) {
    const auto node = static_cast<std::size_t>(spec.memory_node);
    if (node >= image.nodes.size() * kBits) {
      throw Error(ErrorCode::kBadInput, "affinity",
                  "there is no memory node " + std::to_string(node));
    }
    image.nodes[node / kBits] |= 1UL << node % kBits;
    image.set_memory = true;
  }
}

[[noreturn]] void fail_in_child(const Image& image, Step step) {
  const Failure failure{step, errno};
  [[maybe_unused]] const auto size = write(image.report, &failure, sizeof(failure));
  _exit(127);
}

// Runs in the child: only calls that are safe after fork in a program with threads.
[[noreturn]] void become(const Image& image) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != image.parent) _exit(127);  // the harness died in between
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(image.input, STDIN_FILENO);
  dup2(image.output, STDOUT_FILENO);
  dup2(image.error, STDERR_FILENO);
#ifdef SYS_close_range
  syscall(SYS_close_range, 3U, ~0U, 4U);  // CLOSE_RANGE_CLOEXEC: others' descriptors stay ours
#endif
  if (image.set_cpus && sched_setaffinity(0, sizeof(image.cpus), &image.cpus) != 0) {
    fail_in_child(image, Step::kAffinity);
  }
  constexpr int kBind = 2;  // MPOL_BIND
  if (image.set_memory && syscall(SYS_set_mempolicy, kBind, image.nodes.data(),
                                  image.nodes.size() * sizeof(unsigned long) * CHAR_BIT) != 0) {
    fail_in_child(image, Step::kMemory);
  }
  if (image.cwd != nullptr && chdir(image.cwd) != 0) fail_in_child(image, Step::kFolder);
  execve(image.path.c_str(), image.argv.data(), image.envp.data());
  fail_in_child(image, Step::kExec);
}

[[noreturn]] void refuse(const Failure& failure, const ProcessSpec& spec) {
  const std::string why = ": " + base::errno_text(failure.error);
  switch (failure.step) {
    case Step::kAffinity:
      throw Error(ErrorCode::kBadInput, "affinity",
                  "the CPUs asked for cannot be had here" + why + "; see `lscpu`");
    case Step::kMemory:
      throw Error(ErrorCode::kBadInput, "affinity",
                  "memory cannot be bound to node " + std::to_string(spec.memory_node) + why);
    case Step::kFolder:
      throw Error(ErrorCode::kBadInput, spec.cwd, "is no folder to start in" + why);
    case Step::kExec:
      break;
  }
  throw Error(ErrorCode::kBadInput, spec.argv[0], "cannot be executed" + why);
}

std::string program_path(const ProcessSpec& spec) {
  if (spec.argv.empty() || spec.argv[0].empty()) {
    throw Error(ErrorCode::kBadInput, "command", "is empty; name the program to start");
  }
  const std::string path = find_executable(spec.argv[0]);
  if (path.empty()) {
    throw Error(ErrorCode::kBadInput, spec.argv[0],
                "is no program; give a path or a name that PATH finds");
  }
  return path;
}

}  // namespace

Launched launch(const ProcessSpec& spec) {
  Image image;
  image.path = program_path(spec);
  std::vector<std::string> arguments = spec.argv;
  std::vector<std::string> environment = merged_environment(spec.environment);
  image.argv = pointers(arguments);
  image.envp = pointers(environment);
  image.cwd = spec.cwd.empty() ? nullptr : spec.cwd.c_str();
  set_placement(image, spec);
  Pipe input;
  Pipe output;
  Pipe error;
  Pipe report;
  image.input = input.reading();
  image.output = output.writing();
  image.error = error.writing();
  image.report = report.writing();
  image.parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw Error(ErrorCode::kBroken, "fork", base::errno_text(errno));
  if (pid == 0) become(image);
  setpgid(pid, pid);  // both sides do it, so that neither has to wait
  report.close_end(1);
  Failure failure{};
  ssize_t size = 0;
  do {
    size = read(report.reading(), &failure, sizeof(failure));
  } while (size < 0 && errno == EINTR);
  if (size == sizeof(failure)) {
    waitpid(pid, nullptr, 0);
    refuse(failure, spec);
  }
  return {pid, input.release(1), output.release(0), error.release(0)};
}

}  // namespace abba::workers
