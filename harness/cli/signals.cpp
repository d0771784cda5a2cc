#include "harness/cli/signals.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

namespace abba::cli {
namespace {

// A signal handler can reach nothing but a static of this type.
volatile std::sig_atomic_t stops_requested = 0;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

constexpr std::string_view kFirst =
    "\nabba: stopping after the step under way; once more to kill the worker and stop at once\n";

void on_signal(int number) {
  const int before = errno;
  stops_requested = stops_requested + 1;
  if (stops_requested == 1) {
    (void)!::write(STDERR_FILENO, kFirst.data(), kFirst.size());
  }
  if (stops_requested >= 2) {
    std::signal(number, SIG_DFL);
  }
  errno = before;
}

}  // namespace

StopSignals::StopSignals() {
  stops_requested = 0;
  for (const int number : kSignals) {
    std::signal(number, on_signal);
  }
  std::signal(SIGPIPE, SIG_IGN);  // a worker that died is an error of its pipe, not our end
}

StopSignals::~StopSignals() {
  for (const int number : kSignals) {
    std::signal(number, SIG_DFL);
  }
}

bool StopSignals::requested() {
  return stops_requested != 0;
}

bool StopSignals::kill_requested() {
  return stops_requested > 1;
}

}  // namespace abba::cli
