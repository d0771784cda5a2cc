// Carries an experiment out for the commands `run` and `try`: preflight, run file, collaborators,
// report. Leaves no half file: a run whose preflight failed goes to .abba/failed/.
#pragma once

#include <filesystem>
#include <string>

#include "harness/cli/context.h"
#include "harness/manifest/attempts.h"
#include "harness/record/registration.h"

namespace abba::cli {

struct Execution {
  Loaded loaded;
  std::string manifest_text;
  record::Registration lock;  // exploratory() = none
  bool registered_just_now = false;
  bool resume = false;
  std::filesystem::path resume_file;  // empty = the latest unfinished run of this registration
  std::filesystem::path output;       // empty = the usual place
  bool quiet = false;
  bool with_report = true;  // write and print it at the end
  bool require_device = false;
  manifest::AttemptKind kind = manifest::AttemptKind::kExploratory;  // of an exploratory run
};

// Returns the exit code; the refusals of before the run are thrown.
int execute(const Execution& execution);

}  // namespace abba::cli
