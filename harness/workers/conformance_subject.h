// Private to conformance.cpp: a worker started for the rules, spoken to on its raw lines.
#pragma once

#include <string>
#include <vector>

#include "engine/base/json.h"
#include "harness/record/worker.h"
#include "harness/workers/process.h"

namespace abba::workers {

// What a rule found wrong. Kept apart from Error so that the two cannot be mixed up.
struct Broken {
  std::string detail;
};
struct NotDeclared {
  std::string detail;
};

// Each throws Broken (or Error, from the checks of messages.h) if the worker does otherwise.
class Subject {
 public:
  Subject(const std::vector<std::string>& argv, double timeout_s);

  std::string exchange(const std::string& line);
  // An answer of the request's own type.
  base::Json ask(const base::Json& request);
  void expect_error(const std::string& line);
  record::WorkerHello hello();
  void expect_end(bool with_zero);
  Process& process() { return process_; }

 private:
  Process process_;
  double timeout_s_;
};

}  // namespace abba::workers
