// The rows that hang on a slot: samples, values and spans, and of a traced slot trace_kernel,
// trace_copy, trace_api and trace_range. Names of a trace come from the traced program; what in
// them names this machine is withheld as in notes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "harness/record/run_record.h"
#include "harness/store/database.h"

namespace abba::store {

using Withhold = std::function<std::string(const std::string& text)>;

void write_trace(Database& database, std::int64_t slot, const record::Trace& trace,
                 const Withhold& withheld);

using SlotsById = std::unordered_map<std::int64_t, record::Slot*>;

// Of all slots. Both throw Error(kBadInput) for a row of a slot that is not there, or one that no
// abba writes.
void read_samples(Database& database, const SlotsById& slots);
void read_traces(Database& database, const SlotsById& slots);

}  // namespace abba::store
