#include "harness/cli/signals.h"

#include <csignal>

namespace abba::cli {
namespace {

// A signal handler can reach nothing but a static of this type.
volatile std::sig_atomic_t stop_requested = 0;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

void on_signal(int number) {
  stop_requested = 1;
  std::signal(number, SIG_DFL);
}

}  // namespace

StopSignals::StopSignals() {
  stop_requested = 0;
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
  return stop_requested != 0;
}

}  // namespace abba::cli
