#include "harness/stats/run_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "harness/stats/notes.h"
#include "harness/stats/run_kind.h"
#include "harness/stats/same_hash.h"

namespace abba::stats {
namespace {

void pass_notes(const record::RunRecord& run, const std::vector<const record::Pass*>& passes,
                std::vector<record::Note>& notes) {
  for (const record::Pass& pass : run.passes) {
    if (pass.phase != record::Phase::kMeasured) {
      continue;
    }
    const std::string where = fmt::format("pass {}", pass.index + 1);
    if (pass.superseded) {
      notes.push_back(make_note(kPassRerun, where, pass.why));
    } else if (std::find(passes.begin(), passes.end(), &pass) == passes.end()) {
      notes.push_back(make_note(kPassIncomplete, where, "it lacks planned blocks"));
    }
  }
  std::set<int> indices;
  for (const record::Pass* pass : passes) {
    if (!indices.insert(pass->index).second) {
      notes.push_back(make_note(kPassIndexTwice, "", fmt::format("index {}", pass->index)));
      return;
    }
  }
}

// A worker process whose slots lie in more than one counted pass.
bool workers_shared(const std::vector<const record::Pass*>& passes) {
  std::set<std::int64_t> earlier;
  for (const record::Pass* pass : passes) {
    std::set<std::int64_t> here;
    for (const record::Block& block : pass->blocks) {
      for (const record::Slot& slot : block.slots) {
        here.insert(slot.worker);
      }
    }
    for (const std::int64_t worker : here) {
      if (!earlier.insert(worker).second) {
        return true;
      }
    }
  }
  return false;
}

// The seeds' plan has its opposite order in the next pass; anything else should have it inside.
bool lacks_opposite(const record::Pass& pass) {
  int count[2] = {0, 0};
  for (const record::Block& block : pass.blocks) {
    if (block.slot_order == "AB" || block.slot_order == "BA") {
      ++count[block.slot_order == "BA" ? 1 : 0];
    }
  }
  return count[0] != count[1];
}

}  // namespace

std::vector<record::Note> run_notes(const record::RunRecord& run,
                                    const std::vector<const record::Pass*>& passes,
                                    bool stopped_early, bool seeds_rule) {
  std::vector<record::Note> notes;
  pass_notes(run, passes, notes);
  if (seeds_rule) {
    notes.push_back(make_note(kDisjointIsNoTest, "", "the plan follows the seeds' method"));
  } else if (!run.manifest.success.harm_limit) {
    notes.push_back(make_note(kNoHarmLimit, "", "success.harm_limit is absent"));
  }
  if (stopped_early) {
    notes.push_back(
        make_note(kStoppedEarly, "", fmt::format("stopped after {} passes", passes.size())));
  }
  if (workers_shared(passes)) {
    notes.push_back(make_note(kWorkersReused, "", "one process an arm served several passes"));
  }
  const bool pairs = run.manifest.protocol.order == record::Order::kAbBa;
  if (pairs && std::any_of(passes.begin(), passes.end(),
                           [](const auto* pass) { return lacks_opposite(*pass); })) {
    notes.push_back(make_note(kDriftRemains, "", "order AB/BA with an odd number of blocks"));
  }
  if (run.manifest.combined) {
    notes.push_back(make_note(kSeveralFactors, "", "the manifest says combined"));
  }
  const bool aa = declared_equal(run);
  if (aa && !arms_are_equal(run)) {
    notes.push_back(make_note(kArmsDifferInAa, "", "independent variable: none"));
  }
  const bool optimizes = run_kind(run) != RunKind::kRuntimeComparison;  // else nothing was changed
  if (!aa && optimizes && !run.manifest.evidence.present()) {
    notes.push_back(make_note(kNoEvidence, "", "manifest: evidence is absent"));
  }
  return notes;
}

}  // namespace abba::stats
