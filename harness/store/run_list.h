// What a folder of runs holds, for listings: never throws for what lies in a file, a bad one is an
// item with a problem.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/record/run_record.h"

namespace abba::store {

struct RunListing {
  std::string file;
  std::string run_id;
  std::string manifest_id;
  std::string started_utc;
  record::RunState state = record::RunState::kRunning;
  bool exploratory = false;
  std::vector<std::pair<std::string, std::string>> words;  // workload -> verdict word of the cache
  std::uintmax_t size_bytes = 0;
  std::string problem;  // one sentence why it cannot be read; then only file and size are set
};

// All *.sqlite and *.sqlite.xz below `folder`, sorted by file name; an absent folder is empty.
// Throws Error(kBadInput) if the folder itself cannot be read.
std::vector<RunListing> list_runs(const std::string& folder);

}  // namespace abba::store
