#include "harness/evidence/later_workers.h"

#include <algorithm>

#include "harness/record/names.h"

namespace abba::evidence {

bool is_later_worker(const record::RunRecord& run, std::int64_t worker, const std::string& arm) {
  return std::any_of(run.workers.begin(), run.workers.end(), [&](const auto& one) {
    return one.id == worker && one.arm == arm && one.pass == record::kLaterPass;
  });
}

bool answered_elsewhere(const record::RunRecord& run, std::int64_t worker, record::Phase own) {
  for (const record::Pass& pass : run.passes) {
    for (const record::Block& block : pass.blocks) {
      for (const record::Slot& slot : block.slots) {
        if (pass.phase != own && slot.worker == worker) {
          return true;
        }
      }
    }
  }
  return false;
}

bool is_excused(const record::RunRecord& run, record::Phase phase, const std::string& arm,
                const std::string& workload, std::span<const std::string_view> codes) {
  const std::string of_arm = "arm " + arm;
  const std::string of_pass = std::string(record::name(phase)) + " pass ";
  return std::any_of(run.notes.begin(), run.notes.end(), [&](const record::Note& note) {
    const bool places = note.where == of_arm || note.where == workload + ", " + of_arm ||
                        (note.where.starts_with(of_pass) && note.where.ends_with(", " + of_arm));
    return places && std::find(codes.begin(), codes.end(), note.code) != codes.end();
  });
}

}  // namespace abba::evidence
