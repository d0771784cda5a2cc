// The conformance suite behind `abba worker-check -- COMMAND`: does a stranger's worker speak
// abba.worker/1? Each rule is a row; a worker that breaks one fails that row, never the suite.
#pragma once

#include <string>
#include <vector>

namespace abba::workers {

struct ConformanceRow {
  std::string rule;  // stable name: "hello-valid", "slot-id-echoed", ...
  bool passed = false;
  bool skipped = false;  // the worker does not declare what the rule needs
  std::string detail;    // what was seen
};

struct ConformanceOptions {
  double timeout_s = 30;            // per message
  std::string device = "none";      // of every load message
  bool require_device = false;      // the load reply must name a device's UUID
  std::string workload_input_json;  // of the workload to try; empty = the first example of hello
};

// Starts the command several times. Throws kBadInput only if it cannot be started at all.
std::vector<ConformanceRow> conformance(const std::vector<std::string>& argv,
                                        const ConformanceOptions& options = {});

// True if no row failed.
bool conforms(const std::vector<ConformanceRow>& rows);

}  // namespace abba::workers
