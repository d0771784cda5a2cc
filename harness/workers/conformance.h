// The conformance suite behind `abba worker-check -- COMMAND`: does a stranger's worker speak
// abba.worker/1? One row for each rule of conformance_rules.h, in that order; a worker that breaks
// one fails that row, and what could only be judged with it is "not checked", never guessed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/json.h"

namespace abba::workers {

enum class Conformance { kOk, kBroken, kNotChecked };
// "ok", "broken", "not checked"
std::string_view name(Conformance state);

struct ConformanceRow {
  std::string rule;  // its stable id
  Conformance state = Conformance::kNotChecked;
  std::string detail;  // what was seen, or why it was not checked
};

struct ConformanceOptions {
  double timeout_s = 30;                     // per message
  std::string device = "none";               // of every load message
  bool require_device = false;               // the load reply must name a device's UUID
  std::string workload_input_json;           // to try; empty = the example of hello
  std::string boundary;                      // to prepare and time it at; empty = none is named
  base::Json settings;                       // of every load message; null = none
  std::map<std::string, std::string> files;  // likewise: name -> path
};

struct ConformanceReport {
  std::vector<ConformanceRow> rows;
  // Why no slot could be timed although no rule is broken: what the worker needs was not given.
  std::string missing;
  [[nodiscard]] int count(Conformance state) const;
};

// Starts the command several times. Throws kBadInput only if it cannot be started at all, or for an
// input that is no JSON.
ConformanceReport conformance(const std::vector<std::string>& argv,
                              const ConformanceOptions& options = {});

}  // namespace abba::workers
