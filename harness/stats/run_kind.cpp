#include "harness/stats/run_kind.h"

#include "harness/stats/same_hash.h"

namespace abba::stats {
namespace {

std::string_view declared_name(const record::RunRecord& run, const record::Arm& arm,
                               const char* id) {
  const auto hello = run.hello.find(id);
  if (hello == run.hello.end() || !arm.program.empty()) {
    return {};
  }
  return hello->second.name;
}

}  // namespace

RunKind run_kind(const record::RunRecord& run) {
  const std::string_view a = declared_name(run, run.manifest.a, "A");
  const std::string_view b = declared_name(run, run.manifest.b, "B");
  if (!a.empty() && !b.empty() && a != b) {
    return RunKind::kRuntimeComparison;
  }
  const bool equal = declared_equal(run) || arms_are_equal(run);
  return equal ? RunKind::kNull : RunKind::kOptimization;
}

std::string_view name(RunKind kind) {
  switch (kind) {
    case RunKind::kNull:
      return "a/a";
    case RunKind::kOptimization:
      return "optimization";
    case RunKind::kRuntimeComparison:
      break;
  }
  return "runtime comparison";
}

}  // namespace abba::stats
