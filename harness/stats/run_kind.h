// Which question a run asks. A report answers the question of its kind and makes no claim about the
// other one: a comparison of two programs shows no optimization, an optimization shows nothing
// about another program.
#pragma once

#include <string_view>

#include "harness/record/run_record.h"

namespace abba::stats {

enum class RunKind {
  kNull,               // equal arms
  kOptimization,       // one program, changed in one thing
  kRuntimeComparison,  // two workers that declare different names
};

// A program without the protocol declares no name: two of them count as one program changed.
[[nodiscard]] RunKind run_kind(const record::RunRecord& run);
[[nodiscard]] std::string_view name(RunKind kind);  // "a/a", "optimization", "runtime comparison"

}  // namespace abba::stats
