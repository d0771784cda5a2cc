#include "harness/stats/capture_costs.h"

#include <algorithm>
#include <limits>

namespace abba::stats {
namespace {

using record::CaptureCosts;
using record::GraphCapture;

// The ledger of one arm on one workload.
struct Ledger {
  std::vector<const CaptureCosts*> captured;  // shapes
  int plain = 0;                              // shapes that run without a graph
};

Ledger ledger_of(const std::vector<const GraphCapture*>& captures, const std::string& arm,
                 const std::string& workload) {
  Ledger ledger;
  for (const GraphCapture* capture : captures) {
    if (capture->arm != arm || capture->workload != workload) {
      continue;
    }
    if (capture->costs.capture_ns) {
      ledger.captured.push_back(&capture->costs);
    } else {
      ++ledger.plain;
    }
  }
  return ledger;
}

// Capture, instantiate and upload of the only shape; nothing if one of them is not known.
std::optional<double> whole_cost(const Ledger& ledger) {
  if (ledger.captured.size() != 1 || ledger.plain != 0) {
    return std::nullopt;
  }
  const CaptureCosts& costs = *ledger.captured.front();
  if (!costs.instantiate_ns || !costs.upload_ns) {
    return std::nullopt;
  }
  return static_cast<double>(*costs.capture_ns) + static_cast<double>(*costs.instantiate_ns) +
         static_cast<double>(*costs.upload_ns);
}

// Mean time of a measured request of the baseline, which effects are fractions of.
double baseline_mean(const record::Verdict& verdict) {
  const auto found =
      std::find_if(verdict.summaries.begin(), verdict.summaries.end(),
                   [](const auto& summary) { return summary.arm == "A" && summary.pass == -1; });
  return found == verdict.summaries.end() ? 0 : found->mean;
}

}  // namespace

std::vector<const GraphCapture*> captures_of(const record::RunRecord& run,
                                             const record::Pass& pass) {
  std::int64_t next_id = std::numeric_limits<std::int64_t>::max();
  for (const record::Pass& other : run.passes) {
    next_id = other.id > pass.id ? std::min(next_id, other.id) : next_id;
  }
  std::vector<const GraphCapture*> captures;
  for (const GraphCapture& capture : run.graph_captures) {
    if (capture.worker > pass.id && capture.worker < next_id) {
      captures.push_back(&capture);
    }
  }
  return captures;
}

std::vector<const GraphCapture*> counted_captures(const record::RunRecord& run) {
  const record::Pass* counted = nullptr;
  for (const record::Pass& pass : run.passes) {
    if (pass.phase == record::Phase::kGraphCapture && !pass.superseded) {
      counted = counted == nullptr || counted->id < pass.id ? &pass : counted;
    }
  }
  return counted == nullptr ? std::vector<const GraphCapture*>() : captures_of(run, *counted);
}

std::optional<BreakEven> break_even(const record::RunRecord& run, const record::Verdict& verdict) {
  const auto captures = counted_captures(run);
  const Ledger a = ledger_of(captures, "A", verdict.workload);
  const Ledger b = ledger_of(captures, "B", verdict.workload);
  const bool b_captures = a.captured.empty() && a.plain > 0;
  const bool a_captures = b.captured.empty() && b.plain > 0;
  if (a_captures == b_captures || verdict.metric != "latency" || !verdict.plain95.estimable()) {
    return std::nullopt;
  }
  const auto cost_ns = whole_cost(b_captures ? b : a);
  const double mean_ns = baseline_mean(verdict);
  // What a request of the capturing arm saves, as fractions of the baseline.
  const double sign = b_captures ? -1 : 1;
  const double saved = sign * verdict.effect;
  const double least = std::min(sign * verdict.plain95.low, sign * verdict.plain95.high);
  const double most = std::max(sign * verdict.plain95.low, sign * verdict.plain95.high);
  if (!cost_ns || mean_ns <= 0 || least <= 0 || saved <= 0) {
    return std::nullopt;
  }
  return BreakEven{b_captures ? "B" : "A", *cost_ns, *cost_ns / (mean_ns * saved),
                   *cost_ns / (mean_ns * most), *cost_ns / (mean_ns * least)};
}

}  // namespace abba::stats
