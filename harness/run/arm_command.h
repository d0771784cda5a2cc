// Which command an arm is: the one place that knows the order of precedence.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/manifest/project.h"
#include "harness/record/manifest.h"

namespace abba::run {

struct ArmCommand {
  std::vector<std::string> argv;
  record::Reads reads = record::Reads::kProtocol;
  std::string tree;  // of a built revision, else empty
};

struct CommandSources {
  std::string program;                   // the running abba: what {abba} stands for
  std::vector<std::string> last_resort;  // the embedded engine's worker beside abba; may be empty
  std::function<bool()> stop;            // asked while a revision is built; may be empty
};

// The arm's own `program` or `worker`; or, with `rev`, the executable built of that revision,
// followed by the words after the first of the common worker; or the manifest's `worker`; or
// `default_worker` of abba.json; or `last_resort`. {abba} and {root} are filled in. A relative
// command that exists below the project is taken from there. Throws Error(kBadInput) if there is
// none; what build_revision throws.
ArmCommand arm_command(const record::Manifest& manifest, const std::string& arm,
                       const manifest::Project& project, const CommandSources& sources);

// "A" and "B", and "reference" if the manifest has a reference worker.
std::map<std::string, ArmCommand> arm_commands(const record::Manifest& manifest,
                                               const manifest::Project& project,
                                               const CommandSources& sources);

}  // namespace abba::run
