#include "harness/stats/contrasts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/stats/description.h"
#include "harness/stats/estimators.h"
#include "harness/stats/notes.h"
#include "harness/stats/versions.h"

namespace abba::stats {
namespace {

// A block that can be used: summaries of its slots in order of position.
struct BlockSummary {
  std::string order;              // letters of the slots as they ran
  std::vector<double> summaries;  // log scale
  std::vector<double> paired;     // interleaved: contrasts of neighbouring pairs
  [[nodiscard]] double contrast() const {
    double sum[2] = {0, 0};
    double count[2] = {0, 0};
    for (std::size_t i = 0; i < summaries.size(); ++i) {
      const int arm = order[i] == 'B' ? 1 : 0;
      sum[arm] += summaries[i];
      count[arm] += 1;
    }
    return sum[1] / count[1] - sum[0] / count[0];
  }
};

// One pair of interleaved requests: the same sequence number in both arms.
struct Pair {
  double difference = 0;  // log B/A
  bool a_first = false;
};

std::vector<Pair> request_pairs(const SlotValues& a, const SlotValues& b) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0, j = 0; i < a.seqs.size() && j < b.seqs.size();) {
    if (a.seqs[i] == b.seqs[j]) {
      pairs.push_back({std::log(b.values[j] / a.values[i]), a.starts_ns[i] <= b.starts_ns[j]});
      ++i;
      ++j;
    } else {
      ++(a.seqs[i] < b.seqs[j] ? i : j);  // its partner failed
    }
  }
  return pairs;
}

// Two neighbouring pairs in opposite order make one ABBA-like contrast; where the order does not
// alternate, each pair stands alone.
std::vector<double> paired_contrasts(const std::vector<Pair>& pairs) {
  std::vector<double> result;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (i + 1 < pairs.size() && pairs[i].a_first != pairs[i + 1].a_first) {
      result.push_back(0.5 * (pairs[i].difference + pairs[i + 1].difference));
      ++i;
    } else {
      result.push_back(pairs[i].difference);
    }
  }
  return result;
}

// Reads the blocks of one workload and gathers what is wrong with them, each kind once.
class Reader {
 public:
  Reader(const record::RunRecord& run, std::string workload, const Measure& measure,
         bool describes_requests, WorkloadContrasts& out)
      : run_(run),
        workload_(std::move(workload)),
        measure_(measure),
        describes_requests_(describes_requests),
        out_(out) {
    checks_clock_ = rules_of(run).value_or(AnalysisRules{}).checks_clock_order;
  }

  void read_pass(const record::Pass& pass) {
    std::vector<BlockSummary> clean;
    std::vector<BlockSummary> all;
    for (const record::Block& block : pass.blocks) {
      if (block.workload == workload_) {
        read_block(pass, block, clean, all);
      }
    }
    const int planned = planned_blocks(run_, pass.index, workload_);
    if (static_cast<int>(clean.size()) < planned && clean.size() < all.size()) {
      once(kTaintRemains, "pass " + std::to_string(pass.index + 1) + " keeps " +
                              std::to_string(clean.size()) + " of " + std::to_string(planned) +
                              " clean blocks");
    }
    if (all.empty()) {
      return;
    }
    PassValue value;
    value.index = pass.index;
    value.with_taint = pass_effect(all);
    value.effect = clean.empty() ? value.with_taint : pass_effect(clean);
    if (const auto first = first_slot(clean.empty() ? all : clean)) {
      value.first_slot = *first;
      value.has_first_slot = true;
    }
    out_.blocks_used += static_cast<std::int64_t>(clean.size());
    out_.passes.push_back(value);
    describe_pass(pass.index);
  }

  void finish() {
    if (failures_ > 0) {
      const bool many = failures_ * 100 > requests_;  // above 1 %
      once(many ? kManyFailed : kSomeFailed, std::to_string(failures_) + " of " +
                                                 std::to_string(requests_) +
                                                 " measured requests failed");
    }
    if (!a_all_.values.empty() && !b_all_.values.empty()) {
      out_.summaries.push_back(describe("A", -1, std::move(a_all_.values), a_all_.failures));
      out_.summaries.push_back(describe("B", -1, std::move(b_all_.values), b_all_.failures));
    }
  }

 private:
  void once(std::string_view code, const std::string& text) {
    const auto same = [&](const record::Note& note) { return note.code == code; };
    if (std::none_of(out_.notes.begin(), out_.notes.end(), same)) {
      out_.notes.push_back(make_note(code, workload_, text));
    }
  }

  void read_block(const record::Pass& pass, const record::Block& block,
                  std::vector<BlockSummary>& clean, std::vector<BlockSummary>& all) {
    if (block.failed) {
      ++out_.blocks_failed;
      once(kBlockFailed, "pass " + std::to_string(pass.index + 1) + ": " + block.failure);
      return;
    }
    const bool tainted = !block.taint.empty();
    out_.blocks_tainted += tainted ? 1 : 0;
    const auto summary = summarise(pass, block, describes_requests_ && !tainted);
    if (summary) {
      all.push_back(*summary);
      if (!tainted) {
        clean.push_back(*summary);
      }
    }
  }

  // Nothing if the block cannot be used; the note says why.
  std::optional<BlockSummary> summarise(const record::Pass& pass, const record::Block& block,
                                        bool describe_it) {
    std::vector<const record::Slot*> slots;
    for (const record::Slot& slot : block.slots) {
      slots.push_back(&slot);
    }
    std::stable_sort(slots.begin(), slots.end(),
                     [](const auto* a, const auto* b) { return a->position < b->position; });
    std::vector<SlotValues> read;
    BlockSummary result;
    for (const record::Slot* slot : slots) {
      read.push_back(slot_values(*slot, block, measure_));
      result.order += slot->arm;
    }
    if (!check(pass, block, result.order, read)) {
      return std::nullopt;
    }
    if (interleaved(run_, block)) {
      const std::size_t a = result.order[0] == 'A' ? 0 : 1;
      result.paired = paired_contrasts(request_pairs(read[a], read[1 - a]));
    }
    for (std::size_t i = 0; i < read.size(); ++i) {
      result.summaries.push_back(slot_summary(read[i].values, measure_));
      if (describe_it) {
        keep(result.order[i] == 'A' ? a_pass_ : b_pass_, std::move(read[i]));
      }
    }
    return result;
  }

  bool check(const record::Pass& pass, const record::Block& block, const std::string& order,
             const std::vector<SlotValues>& read) {
    const std::string where =
        "pass " + std::to_string(pass.index + 1) + ", block " + std::to_string(block.id) + ": ";
    const std::size_t wanted = interleaved(run_, block) ? 2 : block.slot_order.size();
    if (order.find('A') == std::string::npos || order.find('B') == std::string::npos ||
        order.find_first_not_of("AB") != std::string::npos ||
        (wanted > 0 && order.size() != wanted)) {
      once(kSlotsMissing, where + "planned " + block.slot_order + ", stored " + order);
      return false;
    }
    bool usable = true;
    for (const SlotValues& slot : read) {
      requests_ += slot.requests;
      failures_ += slot.failures;
      if (slot.duplicate_seq) {
        once(kSampleTwice, where + "two samples of a slot share a number");
      }
      if (slot.clock_stepped && checks_clock_) {
        once(kClockStepped, where + "the clock went back in a slot");
      }
      if (slot.unusable > 0) {
        once(kUnusableTime,
             where + std::to_string(slot.unusable) + " times are not positive numbers");
      }
      if (slot.requests != read.front().requests && !prints_own_counts()) {
        once(kUnequalCounts, where + "slots of " + std::to_string(read.front().requests) + " and " +
                                 std::to_string(slot.requests) + " requests");
      }
      usable = usable && !slot.values.empty();
    }
    if (!usable) {
      once(kNothingMeasured, where + "a slot holds no usable time of " + measure_.metric);
    }
    return usable;
  }

  // There the number of samples is the programs' own, and one slot has as much weight as another.
  [[nodiscard]] bool prints_own_counts() const {
    return record::prints_own_samples(run_.manifest.a.reads) ||
           record::prints_own_samples(run_.manifest.b.reads);
  }

  static void keep(SlotValues& into, SlotValues&& slot) {
    into.values.insert(into.values.end(), slot.values.begin(), slot.values.end());
    into.failures += slot.failures;
  }

  void describe_pass(int index) {
    for (auto [arm, of_pass, of_all] :
         {std::tuple("A", &a_pass_, &a_all_), std::tuple("B", &b_pass_, &b_all_)}) {
      if (!of_pass->values.empty()) {
        of_all->failures += of_pass->failures;
        of_all->values.insert(of_all->values.end(), of_pass->values.begin(), of_pass->values.end());
        out_.summaries.push_back(
            describe(arm, index, std::move(of_pass->values), of_pass->failures));
      }
      *of_pass = {};
    }
  }

  // AB and BA neighbours become one contrast; what finds no partner stands alone.
  static std::vector<double> pass_contrasts(const std::vector<BlockSummary>& blocks) {
    std::vector<double> result;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const BlockSummary& block = blocks[i];
      if (!block.paired.empty()) {
        result.insert(result.end(), block.paired.begin(), block.paired.end());
      } else if (block.order.size() == 2 && i + 1 < blocks.size() &&
                 blocks[i + 1].order.size() == 2 && blocks[i + 1].order != block.order) {
        result.push_back(0.5 * (block.contrast() + blocks[i + 1].contrast()));
        ++i;
      } else {
        result.push_back(block.contrast());
      }
    }
    return result;
  }

  static double pass_effect(const std::vector<BlockSummary>& blocks) {
    return hodges_lehmann(pass_contrasts(blocks));
  }

  // First slot minus the last slot of the same arm, averaged over blocks that have both.
  static std::optional<double> first_slot(const std::vector<BlockSummary>& blocks) {
    std::vector<double> differences;
    for (const BlockSummary& block : blocks) {
      const std::size_t later = block.order.rfind(block.order.front());
      if (later != 0) {
        differences.push_back(block.summaries.front() - block.summaries[later]);
      }
    }
    return differences.empty() ? std::nullopt : std::optional(mean(differences));
  }

  const record::RunRecord& run_;
  std::string workload_;
  const Measure& measure_;
  bool describes_requests_;
  WorkloadContrasts& out_;
  bool checks_clock_ = true;
  SlotValues a_pass_;
  SlotValues b_pass_;
  SlotValues a_all_;
  SlotValues b_all_;
  std::int64_t requests_ = 0;
  std::int64_t failures_ = 0;
};

}  // namespace

bool WorkloadContrasts::sound() const {
  return std::none_of(notes.begin(), notes.end(), [](const record::Note& note) {
    return note.severity == record::Severity::kInvalid;
  });
}

WorkloadContrasts contrasts(const record::RunRecord& run,
                            const std::vector<const record::Pass*>& passes,
                            const std::string& workload, const Measure& measure,
                            bool describes_requests) {
  WorkloadContrasts result;
  Reader reader(run, workload, measure, describes_requests, result);
  for (const record::Pass* pass : passes) {
    reader.read_pass(*pass);
  }
  reader.finish();
  return result;
}

}  // namespace abba::stats
