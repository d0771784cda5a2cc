// What makes a workload invalid or suspect besides its samples: outputs, carry-over, exposure,
// negative controls. Each gives
// coded notes; the analysis of times is never switched on any of them.
#pragma once

#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"
#include "harness/stats/contrasts.h"

namespace abba::stats {

// Limit of carry-over where the manifest declares no harm limit.
inline constexpr double kDefaultLimit = 0.01;

// What a condition may differ by: the harm limit where it means something, else kDefaultLimit.
[[nodiscard]] double condition_limit(const record::RunRecord& run);

// N044 if disjoint ranges of pass means lie on the other side (judge_disjoint's answer) than the
// effect, which is one of medians.
[[nodiscard]] std::vector<record::Note> check_means_against_medians(const record::RunRecord& run,
                                                                    const record::Verdict& verdict,
                                                                    int side_of_means);

// Registered comparison of outputs, and the digests taken in the slots under a bitwise rule.
[[nodiscard]] std::vector<record::Note> check_outputs(const record::RunRecord& run,
                                                      const std::string& workload);

// First slot against a later one of the same arm over passes, 95 %: fills the verdict's fields;
// N023 if the whole interval lies beyond the harm limit (else 1 %), N024 if there is none.
[[nodiscard]] std::vector<record::Note> check_carry_over(const record::RunRecord& run,
                                                         const WorkloadContrasts& data,
                                                         record::Verdict& verdict);

// The judged conditions of exposure.h: N025 beyond a limit, N026 without readings, N043 where the
// arms share them; N045 where one arm was power-capped for more of the time.
[[nodiscard]] std::vector<record::Note> check_exposure(
    const record::RunRecord& run, const std::vector<const record::Pass*>& passes,
    const WorkloadContrasts& data, const std::string& workload);

// Spans that the change cannot touch (`success.controls`): N040 if one moved beyond the limit (the
// harm limit, else 1 %), N041 if it was not shown to stay within, N042 if it was never recorded.
[[nodiscard]] std::vector<record::Note> check_negative_controls(
    const record::RunRecord& run, const std::vector<const record::Pass*>& passes,
    const std::string& workload);

}  // namespace abba::stats
