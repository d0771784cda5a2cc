// From a workload's opaque input to batches of token rows. Three forms are understood:
//   {"fixture": "short_1"}                      a file of experiments/fixtures, by name
//   {"shape": [rows, tokens], "seed": n}        full rows of drawn ids, two to four options each
//   {"hook": {"rows": 12, "tokens": 187, "batch": 8, "kind": "score", "seed": n}}
//                                               rows of about `tokens` ids, ranked over all batches
// and each may carry "checkpoint": the name of the files entry whose network answers it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/model/batch.h"

namespace abba::laya {

struct WorkloadInput {
  std::string checkpoint = "checkpoint";  // a files entry
  std::vector<model::Batch> batches;      // one request runs all of them, in order
  std::int64_t row_count = 0;
  std::int64_t token_count = 0;  // real tokens, padding left out
};

// `fixtures_dir` may be empty if the form needs none. `variant` (0 = as written) draws other ids: a
// fixture keeps its layout, the drawn forms draw options and a hook's lengths anew as well. Throws
// Error(kBadInput) with what was found and what would be accepted.
WorkloadInput read_workload_input(const base::Json& input, const std::string& fixtures_dir,
                                  std::int64_t pad_id, std::uint64_t variant);

}  // namespace abba::laya
