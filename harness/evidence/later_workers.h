// What both passes after the measured ones promise of their workers and of what is missing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "harness/record/run_record.h"

namespace abba::evidence {

// Started for a later pass, and for that arm alone.
[[nodiscard]] bool is_later_worker(const record::RunRecord& run, std::int64_t worker,
                                   const std::string& arm);

// A slot of a pass of another phase than `own` was answered by it.
[[nodiscard]] bool answered_elsewhere(const record::RunRecord& run, std::int64_t worker,
                                      record::Phase own);

// Whether a note of one of these codes says why nothing is stored of the arm on the workload in the
// pass of that phase: "trace pass 1, arm A", "WORKLOAD, arm A" or "arm A".
[[nodiscard]] bool is_excused(const record::RunRecord& run, record::Phase phase,
                              const std::string& arm, const std::string& workload,
                              std::span<const std::string_view> codes);

}  // namespace abba::evidence
