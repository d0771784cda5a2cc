// The rules that bindings keep: within a run every pass uses what the first preflight bound, and a
// later run of the same registration uses what the earlier ones did.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/manifest/ledger.h"
#include "harness/record/registration.h"
#include "harness/record/run_record.h"
#include "harness/run/arm_command.h"
#include "harness/workers/executable.h"
#include "harness/workers/worker.h"

namespace abba::run {

// Files of the command line and files mapped into the process; a script's interpreter comes second
// under a name of its own.
std::vector<record::Binding> bindings_of(const std::string& arm, const ArmCommand& command,
                                         const workers::Worker& worker,
                                         workers::FileDigests& digests);

// The binding of that name, or nullptr.
const record::Binding* find_binding(const std::vector<record::Binding>& bindings,
                                    const std::string& name);

// Those of an arm are named KIND/ARM/..., "running/KIND/ARM/..." or "code/KIND/ARM/...".
bool belongs_to(const record::Binding& binding, const std::string& arm);

[[noreturn]] void refuse_binding(const std::string& name, const std::string& what);

// Throws kMismatch naming the first file of `arm` that is not what the run was bound to. Right
// after a start the sets must be equal; later a worker may have loaded a further library.
void require_same(const std::vector<record::Binding>& bound,
                  const std::vector<record::Binding>& now, const std::string& arm,
                  bool just_started);

// What the first run of a registration that got as far was bound to, as the ledger has it.
struct EarlierBindings {
  std::string run_file;                       // empty: there was none
  std::map<std::string, std::string> values;  // by binding name
  std::string lock_digest;                    // of the registration
};
EarlierBindings earlier_bindings(const manifest::LedgerReading& ledger,
                                 const std::string& lock_digest);

// The programs of `arm` must be those of the earlier run. A file that differs is accepted only if
// both have one code digest: rebuilt after a change of documents. Throws kMismatch naming the
// first that is not; returns the names of those that were rebuilt.
std::vector<std::string> require_as_earlier(const EarlierBindings& earlier,
                                            const std::vector<record::Binding>& now,
                                            const std::string& arm);

// Names of bindings of the machine (device, driver) that differ from the earlier run's.
std::vector<std::string> other_than_earlier(const EarlierBindings& earlier,
                                            const std::vector<record::Binding>& now);

}  // namespace abba::run
