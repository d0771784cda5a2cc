// Runs put together from stored passes: labels swapped, passes of several runs mixed. Pure and
// seeded; the runs given are not changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/prng.h"
#include "harness/record/run_record.h"

namespace abba::calibration {

class PassPool {
 public:
  // Of runs of one manifest; only passes that count (stats::counted_passes) are in the pool.
  explicit PassPool(const std::vector<record::RunRecord>& runs);

  [[nodiscard]] std::size_t size() const { return passes_.size(); }
  [[nodiscard]] std::size_t runs() const { return starts_.size(); }

  // Passes of one run in their order, the labels A and B of each pass swapped by a fair coin.
  [[nodiscard]] record::RunRecord relabelled(std::size_t run, base::Random& random) const;

  // `count` passes of all runs without replacement (all of them if there are fewer). Labels stay as
  // they were within the run; a fair coin swaps all of them together, so that a difference between
  // the arms of the stored runs is kept.
  [[nodiscard]] record::RunRecord drawn(std::size_t count, base::Random& random) const;

 private:
  struct Stored {
    record::Pass pass;
    std::vector<record::EnvironmentReading> readings;  // of its slots
  };
  struct Pick {
    std::size_t pass;
    bool swap;
  };
  [[nodiscard]] record::RunRecord compose(const std::vector<Pick>& picks) const;

  record::RunRecord frame_;  // the first run without its passes, readings and notes
  std::vector<Stored> passes_;
  std::vector<std::size_t> starts_;  // of each run in passes_
};

// The run as if `arm`'s SM clock had been lower by `fraction`: readings of the clock are replaced.
[[nodiscard]] record::RunRecord with_clock_drop(record::RunRecord run, char arm, double fraction);

}  // namespace abba::calibration
