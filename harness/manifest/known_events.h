// A run file names the ledger events that its run knew and wrote (bindings "ledger/..."), so an
// event taken out of the ledger, even the last one, is missed as long as the run file lies there.
#pragma once

#include <string>
#include <vector>

#include "harness/manifest/ledger.h"
#include "harness/record/registration.h"

namespace abba::manifest {

// "ledger/known/1", "ledger/run-started/1", ...: the next free name of that kind.
record::Binding event_binding(const std::vector<record::Binding>& bound, const std::string& kind,
                              const std::string& digest);

// Those of the bindings that name an event which the ledger lacks without acknowledging its loss.
std::vector<record::Binding> missing_events(const LedgerReading& ledger,
                                            const std::vector<record::Binding>& bindings);

// "run-started" of "ledger/run-started/1"; empty where the binding does not say it.
std::string event_kind(const record::Binding& event);

// "the run-started event 1a2b3c4d, the event 5e6f7a8b"
std::string event_names(const std::vector<record::Binding>& events);

}  // namespace abba::manifest
