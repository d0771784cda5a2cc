#include "harness/record/names.h"

#include <cstddef>

namespace abba::record {
namespace {

// An empty view for a value past the end, which is how parse_name knows where to stop.
template <std::size_t N>
std::string_view pick(const std::string_view (&names)[N], int index) {
  return index >= 0 && index < static_cast<int>(N) ? names[index] : std::string_view();
}

}  // namespace

std::string_view name(Preset value) {
  static constexpr std::string_view kNames[] = {"two-pass", "standard", "quick"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(WorkerReuse value) {
  static constexpr std::string_view kNames[] = {"reuse", "fresh-per-pass"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(Order value) {
  static constexpr std::string_view kNames[] = {"AB/BA", "ABBA/BAAB", "random", "interleaved"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(WorkloadOrder value) {
  static constexpr std::string_view kNames[] = {"fixed", "rotated", "random"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(Arrival value) {
  static constexpr std::string_view kNames[] = {"back-to-back", "paced"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(Placement value) {
  static constexpr std::string_view kNames[] = {"both-loaded", "one-at-a-time", "shared-process"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(Load value) {
  static constexpr std::string_view kNames[] = {"quiet", "expected"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(OnTaint value) {
  static constexpr std::string_view kNames[] = {"repeat-once", "keep", "abort"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(Claim value) {
  static constexpr std::string_view kNames[] = {"faster", "not_worse", "equivalent",
                                                "disjoint-pass-means"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(Direction value) {
  static constexpr std::string_view kNames[] = {"lower-is-better", "higher-is-better"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(OutputsRule value) {
  static constexpr std::string_view kNames[] = {"none", "bitwise", "limits"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(Reads value) {
  static constexpr std::string_view kNames[] = {"protocol", "wall", "nvbench", "google-benchmark",
                                                "lines"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(Phase value) {
  static constexpr std::string_view kNames[] = {"feasibility", "measured", "graph_capture",
                                                "trace"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(LedgerEventKind value) {
  static constexpr std::string_view kNames[] = {"registered",       "bound",     "run-started",
                                                "run-finished",     "withdrawn", "anchored",
                                                "loss-acknowledged"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(RunState value) {
  static constexpr std::string_view kNames[] = {"running", "finished", "stopped", "broken"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(Severity value) {
  static constexpr std::string_view kNames[] = {"info", "doubt", "invalid"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(Word value) {
  static constexpr std::string_view kNames[] = {"improved",
                                                "regressed",
                                                "equivalent",
                                                "inconclusive",
                                                "invalid",
                                                "faster",
                                                "slower",
                                                "no difference seen",
                                                "disjoint-pass-means met",
                                                "disjoint-pass-means not met"};
  return pick(kNames, static_cast<int>(value));
}

std::string_view name(Criterion value) {
  static constexpr std::string_view kNames[] = {"none", "met", "not met", "undecided"};
  return pick(kNames, static_cast<int>(value));
}

}  // namespace abba::record
