#include "harness/stats/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "harness/stats/estimators.h"
#include "harness/stats/exposure.h"
#include "harness/stats/negative_controls.h"
#include "harness/stats/notes.h"
#include "harness/stats/versions.h"
#include "harness/stats/wording.h"

namespace abba::stats {
namespace {

constexpr double kLevel = 0.95;

bool outside(const record::Interval& interval, double low, double high) {
  return interval.estimable() && (interval.low > high || interval.high < low);
}

std::optional<record::Note> failed_output(const record::OutputCheck& check,
                                          const std::string& workload) {
  if (check.input != workload || check.within || check.against == "reference") {
    return std::nullopt;
  }
  return make_note(
      kOutputsDiffer, workload,
      fmt::format("stage {} of arm {} against {}{}", check.stage, check.arm, check.against,
                  check.first_divergence.empty() ? "" : ": " + check.first_divergence));
}

// Slot digests that differ where bitwise equality is registered.
bool slot_digests_differ(const record::RunRecord& run, const std::string& workload) {
  std::set<std::string> digests;
  for (const record::Pass& pass : run.passes) {
    for (const record::Block& block : pass.blocks) {
      if (block.workload != workload || block.failed || block.phase != record::Phase::kMeasured) {
        continue;
      }
      for (const record::Slot& slot : block.slots) {
        if (!slot.digest.empty()) {
          digests.insert(slot.digest);
        }
      }
    }
  }
  return digests.size() > 1;
}

const ExposureRow* row_of(const std::vector<ExposureRow>& rows, std::string_view what) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.what == what; });
  return found == rows.end() ? nullptr : &*found;
}

// The mean over passes of log B/A in time, and in clock cycles: time x SM clock. Only passes whose
// clocks were read count. Nothing if there is none.
std::optional<std::pair<double, double>> in_time_and_cycles(const WorkloadContrasts& data,
                                                            const ExposureRow& clock) {
  std::vector<double> time;
  std::vector<double> cycles;
  for (const PassValue& pass : data.passes) {
    for (const ExposurePass& read : clock.passes) {
      if (read.index == pass.index) {
        time.push_back(pass.effect);
        cycles.push_back(pass.effect + std::log(read.b / read.a));
      }
    }
  }
  return time.empty() ? std::nullopt : std::optional(std::pair(mean(time), mean(cycles)));
}

std::optional<record::Note> power_cap_differs(const record::RunRecord& run,
                                              const std::vector<ExposureRow>& rows,
                                              const WorkloadContrasts& data,
                                              const std::string& workload) {
  const ExposureRow* capped = row_of(rows, kPowerCapped);
  const ExposureRow* clock = row_of(rows, kSmClock);
  if (!rules_of(run).value_or(AnalysisRules{}).tells_power_caps || capped == nullptr ||
      clock == nullptr || clock->shared || !outside(capped->interval, 0, 0) ||
      primary_measure(run).metric != "latency") {
    return std::nullopt;
  }
  const auto effects = in_time_and_cycles(data, *clock);
  if (!effects) {
    return std::nullopt;
  }
  return make_note(
      kPowerCapDiffers, workload,
      fmt::format("power-capped for {:.1f} % of the time in A and {:.1f} % in B; B against A is {} "
                  "in time and {} in SM clock cycles",
                  100 * capped->a, 100 * capped->b, percent(std::expm1(effects->first)),
                  percent(std::expm1(effects->second))));
}

}  // namespace

double condition_limit(const record::RunRecord& run) {
  const double harm_limit = run.manifest.success.harm_limit.value_or(kDefaultLimit);
  return harm_limit > 0 && harm_limit < 1 ? harm_limit : kDefaultLimit;
}

std::vector<record::Note> check_means_against_medians(const record::RunRecord& run,
                                                      const record::Verdict& verdict,
                                                      int side_of_means) {
  const bool asks = rules_of(run).value_or(AnalysisRules{}).compares_means_with_medians;
  if (!asks || side_of_means * verdict.effect >= 0) return {};
  const bool below = side_of_means < 0;
  return {make_note(kMeansPartFromMedians, verdict.workload,
                    fmt::format("by pass means B lies {}, by medians {}", below ? "below" : "above",
                                below ? "above" : "below"))};
}

std::vector<record::Note> check_outputs(const record::RunRecord& run, const std::string& workload) {
  std::vector<record::Note> notes;
  std::set<std::string> fails_reference;
  for (const record::OutputCheck& check : run.output_checks) {
    if (auto note = failed_output(check, workload); note && notes.empty()) {
      notes.push_back(*std::move(note));
    }
    if (check.input == workload && check.against == "reference" && !check.within) {
      fails_reference.insert(check.arm);
    }
  }
  if (fails_reference.count("A") != 0) {
    notes.push_back(make_note(kBothFailReference, workload,
                              fails_reference.count("B") != 0
                                  ? "both arms fail the reference"
                                  : "arm A, the baseline, fails the reference; B does not"));
  } else if (fails_reference.count("B") != 0) {
    notes.push_back(make_note(kOutputsDiffer, workload, "only arm B fails the reference"));
  }
  if (run.manifest.outputs.rule == record::OutputsRule::kBitwise &&
      slot_digests_differ(run, workload)) {
    notes.push_back(
        make_note(kSlotDigestsDiffer, workload, "more than one digest was seen in the slots"));
  }
  return notes;
}

std::vector<record::Note> check_carry_over(const record::RunRecord& run,
                                           const WorkloadContrasts& data,
                                           record::Verdict& verdict) {
  std::vector<double> values;
  for (const PassValue& pass : data.passes) {
    if (pass.has_first_slot) {
      values.push_back(pass.first_slot);
    }
  }
  if (values.empty()) {
    return {make_note(kCarryOverUnknown, verdict.workload,
                      "order of slots: " + std::string("each arm runs once a block"))};
  }
  verdict.carry_over_effect = std::expm1(mean(values));
  verdict.carry_over = to_fraction(condition_interval(run, values, kLevel));
  const double limit = condition_limit(run);
  if (outside(verdict.carry_over, -limit, limit)) {
    return {make_note(kCarryOver, verdict.workload,
                      fmt::format("95 % interval {}, limit {}", interval_text(verdict.carry_over),
                                  percent(limit)))};
  }
  return {};
}

std::vector<record::Note> check_exposure(const record::RunRecord& run,
                                         const std::vector<const record::Pass*>& passes,
                                         const WorkloadContrasts& data,
                                         const std::string& workload) {
  std::vector<record::Note> notes;
  const std::vector<ExposureRow> rows = exposure(run, passes, workload);
  for (const ExposureRow& row : rows) {
    if (row.limit >= 0 && outside(row.interval, -row.limit, row.limit)) {
      notes.push_back(make_note(kExposureDiffers, workload,
                                fmt::format("{}, B minus A: 95 % interval {}, limit {}", row.what,
                                            interval_text(row.interval), percent(row.limit))));
    }
  }
  if (rows.empty()) {
    notes.push_back(make_note(kExposureUnread, workload, "no reading belongs to a slot"));
  }
  if (std::any_of(rows.begin(), rows.end(), [](const ExposureRow& row) { return row.shared; })) {
    notes.push_back(make_note(kInterleavedUnjudged, workload, "order interleaved"));
  }
  if (const auto capped = power_cap_differs(run, rows, data, workload)) {
    notes.push_back(*capped);
  }
  return notes;
}

std::vector<record::Note> check_negative_controls(const record::RunRecord& run,
                                                  const std::vector<const record::Pass*>& passes,
                                                  const std::string& workload) {
  std::vector<record::Note> notes;
  const double limit = condition_limit(run);
  for (const ControlRow& row : negative_controls(run, passes, workload, limit)) {
    const std::string of_row = "span " + row.span;
    if (row.state == ControlState::kNotRecorded) {
      notes.push_back(make_note(kControlUnrecorded, workload, of_row));
      continue;
    }
    const std::string interval = fmt::format("{}: 95 % interval {}, limit {}", of_row,
                                             interval_text(row.interval), percent(limit));
    if (row.state == ControlState::kMoved) {
      notes.push_back(make_note(kControlMoved, workload, interval));
    } else if (row.state == ControlState::kUndecided) {
      notes.push_back(make_note(kControlOpen, workload, interval));
    }
  }
  return notes;
}

}  // namespace abba::stats
