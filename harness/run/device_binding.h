// The device of a run: bound before anything is timed, held against what every worker says it
// computes on, and kept with all disagreements between its sources.
#pragma once

#include <string>

#include "harness/host/device_probe.h"
#include "harness/record/worker.h"
#include "harness/run/session.h"

namespace abba::run {

// Binds UUID and driver of the chosen device, if there is one. Throws kMismatch if the run was
// bound to another: a resumed run never moves.
void bind_device(Session& session);

// What a worker's load reply says of its device, as source "runtime"; no UUID if it says none.
host::Device reported_device(const record::LoadReply& reply);

// Throws kPreflight if a worker computes on another device than the chosen one, or does not say
// where although a device is required. Adds to `facts` what worker `arm` says, and the doubts.
void check_reported_device(Session& session, const std::string& arm, const record::LoadReply& reply,
                           store::Facts& facts);

}  // namespace abba::run
