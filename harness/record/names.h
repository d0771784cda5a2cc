// The one spelling of every enumerator in manifests, run files and reports.
#pragma once

#include <optional>
#include <string_view>

#include "harness/record/manifest.h"
#include "harness/record/plan.h"
#include "harness/record/registration.h"
#include "harness/record/run_record.h"
#include "harness/record/verdict.h"

namespace abba::record {

std::string_view name(Preset value);
std::string_view name(WorkerReuse value);
std::string_view name(Order value);
std::string_view name(WorkloadOrder value);
std::string_view name(Arrival value);
std::string_view name(Placement value);
std::string_view name(Load value);
std::string_view name(OnTaint value);
std::string_view name(Claim value);
std::string_view name(Direction value);
std::string_view name(OutputsRule value);
std::string_view name(Reads value);
std::string_view name(Phase value);
std::string_view name(LedgerEventKind value);
std::string_view name(RunState value);
std::string_view name(Severity value);
std::string_view name(Word value);
std::string_view name(Criterion value);

// The enumerator of that name, or nothing: parse_name<Order>("ABBA/BAAB").
template <typename Enum>
std::optional<Enum> parse_name(std::string_view text) {
  for (int i = 0;; ++i) {
    const std::string_view candidate = name(static_cast<Enum>(i));
    if (candidate.empty()) {
      return std::nullopt;
    }
    if (candidate == text) {
      return static_cast<Enum>(i);
    }
  }
}

}  // namespace abba::record
