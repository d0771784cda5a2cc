// Ctrl-C and SIGTERM as a question that the run asks between slots. The second signal ends the
// program at once (what is committed stays).
#pragma once

namespace abba::cli {

// While it lives, the first SIGINT, SIGTERM or SIGHUP only sets a flag.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  [[nodiscard]] static bool requested();
};

}  // namespace abba::cli
