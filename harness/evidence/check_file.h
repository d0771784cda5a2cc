// The checks on the file itself, before its rows mean anything: chain, coverage, changes,
// commitments. Each returns what fails, first things first, or an empty string.
#pragma once

#include <string>

#include "harness/record/verdict.h"
#include "harness/store/database.h"

namespace abba::evidence {

struct ChainFindings {
  std::string chain;     // a link or a digest that does not hold, and what it covers
  std::string coverage;  // rows that no commit covers
  std::string summary;   // "412 commits, 1,003,221 rows"
};
ChainFindings check_chain(store::Database& database);

// Columns that may change hold what the log of changes says.
std::string check_changes(store::Database& database);

// The table of verdicts is the one the stored analysis gives.
std::string check_verdict_table(store::Database& database, const record::Analysis& analysis);

struct PrivateFindings {
  std::string wrong;    // a text that is not the one committed to
  std::string summary;  // "5 strings, 2 of them redacted"
};
PrivateFindings check_private(store::Database& database);

}  // namespace abba::evidence
