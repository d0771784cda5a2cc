// The rows of a run file for other programs: as CSV (one table) or JSON lines (all of them).
// Private strings are not among them, only their keys and commitments.
#pragma once

#include <string>

namespace abba::evidence {

// RFC 4180 with a header line; numbers in their shortest exact form. `table`: "samples" (every
// request of every phase with its pass, block and slot, nothing left out), or a table or view of
// the run file. Throws Error(kBadInput) naming those that exist.
std::string rows_as_csv(const std::string& run_file, const std::string& table);

// One object a row, {"table": NAME, column: value, ...}; table by table in the order of the chain.
std::string rows_as_json_lines(const std::string& run_file);

}  // namespace abba::evidence
