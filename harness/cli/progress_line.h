// The line that a person watches: phase, pass, block, workload, elapsed, estimated rest. Only on a
// terminal; otherwise silent but for doubts, which are said once each.
#pragma once

#include <set>
#include <string>

#include "harness/run/collaborators.h"

namespace abba::cli {

// "measured 3/12 · block 2/8 · short_1 · 0:41 · about 2:10 left"
std::string progress_text(const run::Progress& progress);

class ProgressLine final : public run::Observer {
 public:
  // `terminal`: rewrite one line of stderr; `quiet`: say nothing at all.
  ProgressLine(bool terminal, bool quiet) : terminal_(terminal && !quiet), quiet_(quiet) {}
  ~ProgressLine() override { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void progress(const run::Progress& progress) override;
  void note(const record::Note& note) override;

 private:
  void clear();
  bool terminal_;
  bool quiet_;
  std::string shown_;
  std::set<std::string> said_;
};

}  // namespace abba::cli
