// What the plan promised against what the passes hold.
#include <algorithm>
#include <map>
#include <set>

#include "harness/evidence/check_record.h"
#include "harness/record/names.h"

namespace abba::evidence {
namespace {

using record::Block;
using record::Pass;
using record::Phase;
using record::PlannedBlock;
using record::RunRecord;
using record::Slot;

std::string name_of(const Pass& pass) {
  return std::string(record::name(pass.phase)) + " pass " + std::to_string(pass.index + 1);
}

std::string name_of(const Pass& pass, const Block& block) {
  return name_of(pass) + ", block " + std::to_string(block.id) + " of workload " + block.workload;
}

const record::SlotCounts* counts_of(const RunRecord& run, const std::string& workload) {
  const auto found = std::find_if(run.counts.begin(), run.counts.end(),
                                  [&](const auto& counts) { return counts.workload == workload; });
  return found == run.counts.end() ? nullptr : &*found;
}

// `counts` is null where none were bound; a program that prints its own samples is bound to their
// warm-ups alone, and to at least one request.
std::string check_samples(const Slot& slot, const record::SlotCounts* counts, bool is_own) {
  std::int64_t warmups = 0;
  std::int64_t failed = 0;
  std::int64_t seq = 0;
  for (const record::Sample& sample : slot.samples) {
    if (sample.seq != seq++) {
      return "request " + std::to_string(seq - 1) + " is missing";
    }
    warmups += sample.warmup ? 1 : 0;
    failed += sample.status == record::SampleStatus::kFailed ? 1 : 0;
  }
  if (slot.failures != failed) {
    return "it names " + std::to_string(slot.failures) + " failed requests and holds " +
           std::to_string(failed);
  }
  const bool is_short = is_own && seq <= warmups;
  const bool is_other = counts != nullptr && (warmups != counts->warmup ||
                                              (!is_own && seq - warmups != counts->requests));
  if (counts != nullptr && (is_short || is_other)) {
    return "it holds " + std::to_string(warmups) + " warm-ups and " +
           std::to_string(seq - warmups) + " requests, bound were " +
           std::to_string(counts->warmup) + " and " + std::to_string(counts->requests);
  }
  return "";
}

// The arms of a block's slots by position: one a letter, or each arm once when interleaved.
std::string arms_of(const PlannedBlock& planned) {
  if (!planned.interleaved) {
    return planned.slot_order;
  }
  std::string arms;
  for (const char arm : planned.slot_order) {
    if (arms.find(arm) == std::string::npos) {
      arms += arm;
    }
  }
  return arms;
}

std::string check_block(const RunRecord& run, const Pass& pass, const Block& block,
                        const PlannedBlock& planned) {
  const std::string where = name_of(pass, block);
  const std::string arms = arms_of(planned);
  if (block.slots.size() != arms.size()) {
    return where + " holds " + std::to_string(block.slots.size()) + " slots, planned were " +
           std::to_string(arms.size());
  }
  const record::SlotCounts* counts =
      pass.phase == Phase::kMeasured ? counts_of(run, block.workload) : nullptr;
  std::set<std::int64_t> positions;
  for (const Slot& slot : block.slots) {
    positions.insert(slot.position);
    if (slot.position < 0 || slot.position >= static_cast<int>(arms.size()) ||
        slot.arm != arms.substr(static_cast<std::size_t>(slot.position), 1)) {
      return where + ": slot " + std::to_string(slot.id) + " is of another arm than planned";
    }
    if (slot.trace.size() > 0) {
      return where + ": slot " + std::to_string(slot.id) + " holds a trace; nothing traced counts";
    }
    const bool is_own = record::prints_own_samples(run.manifest.arm(slot.arm).reads);
    const std::string wrong = check_samples(slot, counts, is_own);
    if (!wrong.empty()) {
      return where + ", slot " + std::to_string(slot.id) + ": " + wrong;
    }
  }
  return positions.size() == arms.size() ? "" : where + ": a slot stands twice";
}

// Blocks follow the plan in order; a tainted one may be followed by its repetition.
std::string check_pass(const RunRecord& run, const Pass& pass, const record::PlannedPass& planned) {
  if (pass.phase == Phase::kGraphCapture) {
    return pass.blocks.empty() ? "" : name_of(pass) + " holds a block, but nothing is timed in it";
  }
  if (pass.phase == Phase::kTrace) {
    return check_traced_pass(run, pass, planned);
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < planned.blocks.size(); ++i) {
    const PlannedBlock& wanted = planned.blocks[i];
    if (next == pass.blocks.size() || pass.blocks[next].workload != wanted.workload ||
        pass.blocks[next].slot_order != wanted.slot_order) {
      return name_of(pass) + ": block " + std::to_string(i + 1) + " of " +
             std::to_string(planned.blocks.size()) + " (workload " + wanted.workload + ", " +
             wanted.slot_order + ") is missing";
    }
    const bool repeated = !pass.blocks[next].taint.empty() && next + 1 < pass.blocks.size() &&
                          pass.blocks[next + 1].workload == wanted.workload &&
                          pass.blocks[next + 1].slot_order == wanted.slot_order &&
                          pass.blocks.size() - next > planned.blocks.size() - i;
    for (std::size_t last = next + (repeated ? 1 : 0); next <= last; ++next) {
      const std::string wrong = check_block(run, pass, pass.blocks[next], wanted);
      if (!wrong.empty()) {
        return wrong;
      }
    }
  }
  return next == pass.blocks.size() ? "" : name_of(pass) + " holds a block that was not planned";
}

bool is_look(const RunRecord& run, int passes) {
  const auto planned =
      std::count_if(run.plan.passes.begin(), run.plan.passes.end(),
                    [](const auto& pass) { return pass.phase == Phase::kMeasured; });
  return passes == planned ||
         std::find(run.plan.looks.begin(), run.plan.looks.end(), passes) != run.plan.looks.end();
}

}  // namespace

std::string check_counts(const RunRecord& run) {
  std::set<std::pair<Phase, int>> seen;
  int measured = 0;
  for (const Pass& pass : run.passes) {
    if (pass.superseded || pass.end_ns == 0) {  // interrupted: what is there is kept as it is
      continue;
    }
    const auto planned = std::find_if(
        run.plan.passes.begin(), run.plan.passes.end(),
        [&](const auto& item) { return item.phase == pass.phase && item.index == pass.index; });
    if (planned == run.plan.passes.end()) {
      return name_of(pass) + " was not planned";
    }
    if (!seen.insert({pass.phase, pass.index}).second) {
      return name_of(pass) + " stands twice and neither is superseded";
    }
    const std::string wrong = check_pass(run, pass, *planned);
    if (!wrong.empty()) {
      return wrong;
    }
    measured += pass.phase == Phase::kMeasured ? 1 : 0;
  }
  for (int index = 0; index < measured; ++index) {
    if (!seen.contains({Phase::kMeasured, index})) {
      return "measured pass " + std::to_string(index + 1) + " is missing";
    }
  }
  if (run.state == record::RunState::kFinished && !is_look(run, measured)) {
    return "a finished run holds " + std::to_string(measured) +
           " measured passes, which is no look of its plan";
  }
  return "";
}

std::string check_outputs(const RunRecord& run) {
  const bool measured = std::any_of(run.passes.begin(), run.passes.end(), [](const auto& pass) {
    return pass.phase == Phase::kMeasured;
  });
  // A program without the protocol has no outputs to show; the run carries a note instead.
  const bool is_shown = run.manifest.a.reads == record::Reads::kProtocol &&
                        run.manifest.b.reads == record::Reads::kProtocol;
  if (run.manifest.outputs.rule == record::OutputsRule::kNone || !measured || !is_shown) {
    return "";
  }
  std::map<std::string, std::set<std::string>> arms;  // workload -> arms with a digest
  for (const record::OutputCheck& check : run.output_checks) {
    if (!check.digest.empty()) {
      arms[check.input].insert(check.arm);
    }
  }
  for (const record::Workload& workload : run.manifest.workloads) {
    for (const char* arm : {"A", "B"}) {
      if (!arms[workload.id].contains(arm)) {
        return "no output digest of arm " + std::string(arm) + " on workload " + workload.id;
      }
    }
  }
  return "";
}

}  // namespace abba::evidence
