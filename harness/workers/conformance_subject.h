// Private to the conformance suite: a worker started for the rules, spoken to on its raw lines.
#pragma once

#include <string>
#include <vector>

#include "engine/base/json.h"
#include "harness/record/worker.h"
#include "harness/workers/process.h"

namespace abba::workers {

// What a probe found wrong; `rule` is empty where it is the probe's own. Kept apart from Error so
// that the two cannot be mixed up.
struct Broken {
  std::string detail;
  std::string rule;
};
// The worker does not declare, or the caller did not give, what the rule needs.
struct NotDeclared {
  std::string detail;
};
// Nothing of this kind can be judged before the caller gives more.
struct NotGiven {
  std::string detail;
};

// Each throws Broken (or ProtocolBreach, from messages.h) if the worker does otherwise.
class Subject {
 public:
  Subject(const std::vector<std::string>& argv, double timeout_s);

  std::string exchange(const std::string& line);
  // An answer of the request's own type, or an error.
  base::Json ask_or_error(const base::Json& request);
  // An answer of the request's own type.
  base::Json ask(const base::Json& request);
  void expect_error(const std::string& line);
  record::WorkerHello hello();
  void expect_end(bool with_zero);
  Process& process() { return process_; }

 private:
  void require_silence();

  Process process_;
  double timeout_s_;
};

}  // namespace abba::workers
