// Ctrl-C and SIGTERM as questions. The first is asked between slots; the second while a worker is
// waited for, which is then killed; both end the run in order. The third ends the program at once
// (what is committed stays).
#pragma once

namespace abba::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP are counted, and the first says what comes next.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  [[nodiscard]] static bool requested();       // once
  [[nodiscard]] static bool kill_requested();  // a second time
};

}  // namespace abba::cli
