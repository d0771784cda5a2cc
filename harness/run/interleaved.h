// Single requests of the two arms in turn, one slot message each, put together again as one slot
// per arm.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/record/plan.h"
#include "harness/record/run_record.h"
#include "harness/record/worker.h"

namespace abba::run {

class InterleavedSlots {
 public:
  // `cycle`: "AB", "BA", "ABBA" or "BAAB", repeated until each arm has its warm-ups and requests.
  InterleavedSlots(std::string cycle, const record::SlotCounts& counts);

  // In the order in which they come first.
  [[nodiscard]] const std::vector<std::string>& arms() const { return arms_; }
  // The arm of the next request; false when both have all.
  bool next(std::string& arm);
  // `whole` narrowed to the arm's next request; the output is digested at its last one only.
  [[nodiscard]] record::SlotRequest request(const std::string& arm,
                                            record::SlotRequest whole) const;
  // Appends the answer to the arm's slot with its own numbering.
  void take(const std::string& arm, record::SlotReply reply, record::Slot& slot);

 private:
  std::string cycle_;
  record::SlotCounts counts_;
  std::vector<std::string> arms_;
  std::size_t position_ = 0;
  std::map<std::string, std::int64_t> done_;  // by arm
};

}  // namespace abba::run
