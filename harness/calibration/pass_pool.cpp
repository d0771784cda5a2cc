#include "harness/calibration/pass_pool.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "engine/base/error.h"
#include "harness/stats/measured.h"

namespace abba::calibration {
namespace {

// Ids of passes that come from different runs must not meet.
constexpr std::int64_t kIdsOfAPass = std::int64_t{1} << 32U;

char swapped(char arm) {
  return arm == 'A' ? 'B' : arm == 'B' ? 'A' : arm;
}

void renumber(record::Pass& pass, std::vector<record::EnvironmentReading>& readings, int index) {
  const std::int64_t offset = (index + 1) * kIdsOfAPass;
  pass.index = index;
  pass.id += offset;
  for (record::Block& block : pass.blocks) {
    block.id += offset;
    block.pass = index;
    for (record::Slot& slot : block.slots) {
      slot.id += offset;
      slot.block += offset;
      slot.worker += offset;
    }
  }
  for (record::EnvironmentReading& reading : readings) {
    reading.slot += offset;
  }
}

void swap_labels(record::Pass& pass) {
  for (record::Block& block : pass.blocks) {
    std::transform(block.slot_order.begin(), block.slot_order.end(), block.slot_order.begin(),
                   swapped);
    for (record::Slot& slot : block.slots) {
      std::transform(slot.arm.begin(), slot.arm.end(), slot.arm.begin(), swapped);
    }
  }
}

}  // namespace

PassPool::PassPool(const std::vector<record::RunRecord>& runs) {
  ABBA_CHECK(!runs.empty());
  frame_ = runs.front();
  frame_.passes.clear();
  frame_.environment.clear();
  frame_.notes.clear();
  for (const record::RunRecord& run : runs) {
    starts_.push_back(passes_.size());
    std::multimap<std::int64_t, const record::EnvironmentReading*> by_slot;
    for (const auto& reading : run.environment) {
      by_slot.emplace(reading.slot, &reading);
    }
    for (const record::Pass* pass : stats::counted_passes(run)) {
      Stored stored{*pass, {}};
      for (const record::Block& block : pass->blocks) {
        for (const record::Slot& slot : block.slots) {
          const auto [first, last] = by_slot.equal_range(slot.id);
          std::transform(first, last, std::back_inserter(stored.readings),
                         [](const auto& entry) { return *entry.second; });
        }
      }
      passes_.push_back(std::move(stored));
    }
  }
}

record::RunRecord PassPool::compose(const std::vector<Pick>& picks) const {
  record::RunRecord run = frame_;
  int index = 0;
  for (const Pick& pick : picks) {
    Stored stored = passes_[pick.pass];
    renumber(stored.pass, stored.readings, index++);
    if (pick.swap) {
      swap_labels(stored.pass);
    }
    run.passes.push_back(std::move(stored.pass));
    std::move(stored.readings.begin(), stored.readings.end(), std::back_inserter(run.environment));
  }
  return run;
}

record::RunRecord PassPool::relabelled(std::size_t run, base::Random& random) const {
  ABBA_CHECK(run < starts_.size());
  const std::size_t end = run + 1 < starts_.size() ? starts_[run + 1] : passes_.size();
  std::vector<Pick> picks;
  for (std::size_t pass = starts_[run]; pass < end; ++pass) {
    picks.push_back({pass, random.below(2) == 1});
  }
  return compose(picks);
}

record::RunRecord PassPool::drawn(std::size_t count, base::Random& random) const {
  std::vector<std::size_t> order(passes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  const bool swap = random.below(2) == 1;
  std::vector<Pick> picks;
  for (std::size_t i = 0; i < std::min(count, order.size()); ++i) {
    picks.push_back({order[i], swap});
  }
  return compose(picks);
}

record::RunRecord with_clock_drop(record::RunRecord run, char arm, double fraction) {
  constexpr double kFullMhz = 1980;
  std::erase_if(run.environment, [](const auto& reading) { return reading.key == "gpu.sm_clock"; });
  int number = 0;
  for (const record::Pass& pass : run.passes) {
    for (const record::Block& block : pass.blocks) {
      for (const record::Slot& slot : block.slots) {
        // One MHz of ripple: an interval needs some spread.
        const double ripple = ++number % 3 - 1;
        const double clock = kFullMhz * (slot.arm[0] == arm ? 1 - fraction : 1) + ripple;
        run.environment.push_back(
            {slot.id, slot.end_ns, "after", "gpu.sm_clock", clock, "MHz", ""});
      }
    }
  }
  return run;
}

}  // namespace abba::calibration
