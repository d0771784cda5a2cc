// Simulated runs: the plan comes from a manifest through the harness's own parser and planner, the
// times from a Machine, and the record is what a run file would hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "tests/simulation/noise.h"

namespace abba::simulation {

// A manifest of one workload under `preset`, 30 requests a slot (two-pass: its own 50) after two
// warm-ups; `claim` as a manifest says it, with a harm limit of 2 % for "equivalent" alone: with
// one, a run may stop early because the change is harmless, which hides the power of the direction.
[[nodiscard]] record::Manifest make_manifest(const std::string& preset, const std::string& claim);
inline constexpr double kHarmLimit = 0.02;

// A whole run, every planned pass, B slower by `effect` (log). The plan's orders are drawn from
// `seed` too.
[[nodiscard]] record::RunRecord simulate_run(const record::Manifest& manifest,
                                             const NoiseModel& model, double effect,
                                             std::uint64_t seed);

// Pass values D_p of `passes` passes under the gate's plan (fresh workers, two blocks of ABBA/BAAB,
// 30 requests a slot), by the estimators of harness/stats and without the record around them.
[[nodiscard]] std::vector<double> simulate_pass_values(Machine& machine, base::Random& orders,
                                                       int passes, double effect);

// A seed for replicate `index` of cell `cell`: no two share a stream.
[[nodiscard]] std::uint64_t seed_of(std::uint64_t cell, std::uint64_t index);

}  // namespace abba::simulation
