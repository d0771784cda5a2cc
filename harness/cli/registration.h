// A manifest's registration as the commands need it: made, loaded, and its frozen plan.
#pragma once

#include <map>
#include <string>

#include "harness/cli/context.h"
#include "harness/manifest/lock.h"
#include "harness/record/plan.h"
#include "harness/record/registration.h"

namespace abba::cli {

manifest::Registered register_now(const Loaded& loaded, const std::string& supersede);

// Throws Error(kMismatch) if the manifest was never registered.
record::Registration registration_of(const Loaded& loaded);

// The plan frozen in the lock; a lock without one gives the plan of today. Throws Error(kMismatch)
// if this version of the program would plan otherwise than was registered.
record::Plan registered_plan(const Loaded& loaded, const record::Registration& lock);

// Bindings whose value the manifest or the registration fixes beforehand.
std::map<std::string, std::string> fixed_bindings(const Loaded& loaded,
                                                  const record::Registration& lock);

}  // namespace abba::cli
