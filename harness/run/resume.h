// Where an interrupted run goes on. Pure: reads the record of the run file.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "harness/record/run_record.h"

namespace abba::run {

struct ResumePoint {
  std::vector<std::int64_t> supersede;  // ids of passes that were interrupted: kept, rerun whole
  std::set<int> done;                   // indices of measured passes that are complete
  std::set<record::Phase> later_done;   // of passes after them that have ended
};

// A pass is complete if it ended, was not superseded, and its last try of every planned block is
// there and not failed. One after the measured passes is if it ended: what failed in it is a note.
ResumePoint resume_point(const record::RunRecord& record);

}  // namespace abba::run
