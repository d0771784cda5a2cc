#include "harness/manifest/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "engine/base/error.h"

namespace abba::manifest {
namespace {

constexpr std::size_t kMaxErrorBytes = std::size_t{64} << 10U;

// One pipe; both ends close themselves.
struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      throw base::Error(base::ErrorCode::kBroken, "pipe", base::errno_text(errno));
    }
    read_end = ends[0];
    write_end = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

[[noreturn]] void run_child(char* const* argv, const char* folder, bool own_group, int in, int out,
                            int err) {
  if (own_group) ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  for (const int ignored_here : {SIGPIPE, SIGXFSZ}) ::signal(ignored_here, SIG_DFL);
  if (::chdir(folder) == 0) ::execvp(argv[0], argv);
  const char* reason = std::strerror(errno);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, reason, std::strlen(reason));
  ::_exit(127);
}

// Reads what is there; false at the end of the stream.
bool drain(int descriptor, std::string& into) {
  char buffer[1U << 14U];
  const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  into.append(buffer, static_cast<std::size_t>(count));
  return count > 0;
}

void feed(Pipe& in, std::string_view& input) {
  const ssize_t count = ::write(in.write_end, input.data(), input.size());
  if (count > 0) input.remove_prefix(static_cast<std::size_t>(count));
  const bool broken = count < 0 && errno != EINTR && errno != EAGAIN;
  if (broken || input.empty()) Pipe::close_end(in.write_end);
}

void exchange(Pipe& in, Pipe& out, Pipe& err, std::string_view input, CommandResult& result,
              const std::function<bool()>& stop) {
  constexpr int kLookMs = 100;
  ::fcntl(in.write_end, F_SETFL, O_NONBLOCK);
  if (input.empty()) Pipe::close_end(in.write_end);
  while (out.read_end >= 0 || err.read_end >= 0) {
    pollfd waits[3] = {
        {out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}, {in.write_end, POLLOUT, 0}};
    if (::poll(waits, 3, stop ? kLookMs : -1) < 0 && errno != EINTR) break;
    if (stop && stop()) break;
    if (waits[0].revents != 0 && !drain(out.read_end, result.out)) Pipe::close_end(out.read_end);
    if (waits[1].revents != 0 && !drain(err.read_end, result.err)) Pipe::close_end(err.read_end);
    if (waits[2].revents != 0) feed(in, input);
    if (result.err.size() > kMaxErrorBytes) {
      result.err.erase(0, result.err.size() - kMaxErrorBytes);
    }
  }
}

// A broken pipe must be an error here, not the end of the program.
class IgnorePipeSignal {
 public:
  IgnorePipeSignal() : before_(::signal(SIGPIPE, SIG_IGN)) {}
  ~IgnorePipeSignal() { ::signal(SIGPIPE, before_); }
  IgnorePipeSignal(const IgnorePipeSignal&) = delete;
  IgnorePipeSignal& operator=(const IgnorePipeSignal&) = delete;

 private:
  sighandler_t before_;
};

}  // namespace

CommandResult run_command(const std::vector<std::string>& argv, const std::filesystem::path& folder,
                          std::string_view input, const std::function<bool()>& stop) {
  ABBA_CHECK(!argv.empty());
  const IgnorePipeSignal guard;
  Pipe in;
  Pipe out;
  Pipe err;
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const std::string where = folder.empty() ? std::string(".") : folder.string();
  const bool can_stop = static_cast<bool>(stop);
  const pid_t child = ::fork();
  if (child < 0) throw base::Error(base::ErrorCode::kBroken, argv[0], base::errno_text(errno));
  if (child == 0) {
    run_child(words.data(), where.c_str(), can_stop, in.read_end, out.write_end, err.write_end);
  }
  Pipe::close_end(in.read_end);
  Pipe::close_end(out.write_end);
  Pipe::close_end(err.write_end);
  CommandResult result;
  exchange(in, out, err, input, result, stop);
  if (can_stop && stop()) ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace abba::manifest
