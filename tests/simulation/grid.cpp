#include "tests/simulation/grid.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "harness/stats/analyze.h"
#include "harness/stats/distributions.h"
#include "harness/stats/estimators.h"
#include "harness/stats/family.h"
#include "harness/stats/intervals.h"
#include "harness/stats/power.h"
#include "tests/simulation/parallel.h"
#include "tests/simulation/subject.h"

namespace abba::simulation {
namespace {

using record::RunRecord;
using record::Verdict;
using record::Word;

constexpr double kAlpha = 0.05;
constexpr stats::Options kWords{.describes_requests = false};

struct Welch {
  double difference = 0;  // of the means of logs
  double error = 0;
  double df = 0;
};

// Welch's two-sample t on the logs of all measured requests: what people reach for first.
Welch pooled_welch(const RunRecord& run) {
  double count[2] = {0, 0};
  double sum[2] = {0, 0};
  double squares[2] = {0, 0};
  const double origin = std::log(2e6);  // keeps the squares small
  for (const auto& pass : run.passes) {
    for (const auto& block : pass.blocks) {
      for (const auto& slot : block.slots) {
        const int arm = slot.arm == "B" ? 1 : 0;
        for (const auto& sample : slot.samples) {
          if (!sample.warmup) {
            const double x = std::log(static_cast<double>(sample.duration_ns)) - origin;
            count[arm] += 1;
            sum[arm] += x;
            squares[arm] += x * x;
          }
        }
      }
    }
  }
  double error[2];
  double df_terms = 0;
  for (int arm = 0; arm < 2; ++arm) {
    const double variance = (squares[arm] - sum[arm] * sum[arm] / count[arm]) / (count[arm] - 1);
    error[arm] = variance / count[arm];
    df_terms += error[arm] * error[arm] / (count[arm] - 1);
  }
  const double total = error[0] + error[1];
  return {sum[1] / count[1] - sum[0] / count[0], std::sqrt(total), total * total / df_terms};
}

// The run as it stands after the look at which the registered rule stops it.
record::Analysis analyze_with_looks(RunRecord& run, const record::Analysis& whole) {
  std::vector<record::Pass> passes = std::move(run.passes);
  for (const int look : run.plan.looks) {
    if (look >= static_cast<int>(passes.size())) {
      break;
    }
    run.passes.assign(passes.begin(), passes.begin() + look);
    if (stats::stop_at_look(run)) {
      return stats::analyze(run, kWords);
    }
  }
  return whole;
}

void count_verdict(const Verdict& verdict, CellCounts& counts) {
  const bool lower = verdict.effect < 0;
  switch (verdict.word) {
    case Word::kImproved:
    case Word::kFaster:
      ++counts.better;
      break;
    case Word::kRegressed:
    case Word::kSlower:
      ++counts.worse;
      break;
    case Word::kDisjointMet:
      ++(lower ? counts.better : counts.worse);
      break;
    case Word::kEquivalent:
      ++counts.equivalent;
      break;
    case Word::kInvalid:
      ++counts.invalid;
      break;
    default:
      break;
  }
}

void add_run(RunRecord run, double effect, CellCounts& counts) {
  const Welch welch = pooled_welch(run);
  const double t = welch.difference / welch.error;
  counts.pooled += stats::student_two_sided_p(t, welch.df) <= kAlpha ? 1 : 0;

  const record::Analysis whole = stats::analyze(run, kWords);
  const std::vector<double>& values = whole.verdicts.at(0).pass_effects;
  const double sd = stats::standard_deviation(values);
  ++counts.runs;
  counts.variance_sum += sd * sd;
  counts.detected += stats::student_p(values) <= kAlpha ? 1 : 0;
  const record::Interval interval = stats::student_interval(values, 1 - kAlpha);
  counts.covered += interval.low <= effect && effect <= interval.high ? 1 : 0;

  const record::Analysis stopped = analyze_with_looks(run, whole);
  counts.passes += stopped.passes;
  count_verdict(stopped.verdicts.at(0), counts);
}

struct Hits {
  std::int64_t count = 0;
  void merge(const Hits& other) { count += other.count; }
};

}  // namespace

void CellCounts::merge(const CellCounts& other) {
  runs += other.runs;
  detected += other.detected;
  covered += other.covered;
  pooled += other.pooled;
  passes += other.passes;
  better += other.better;
  worse += other.worse;
  equivalent += other.equivalent;
  invalid += other.invalid;
  variance_sum += other.variance_sum;
}

double Cell::pass_sd() const {
  return std::sqrt(counts.variance_sum / static_cast<double>(counts.runs));
}

void fill(Cell& cell, std::uint64_t number, std::uint64_t replicates, int threads) {
  const record::Manifest manifest = make_manifest(cell.plan, cell.claim);
  const double effect = std::log1p(cell.effect_share);
  cell.counts =
      sum_over<CellCounts>(replicates, threads, [&](std::uint64_t index, CellCounts& counts) {
        add_run(simulate_run(manifest, *cell.model, effect, seed_of(number, index)), effect,
                counts);
      });
}

double theory(const Cell& cell, int passes) {
  return stats::two_sided_power(passes, std::log1p(cell.effect_share) / cell.pass_sd(), kAlpha);
}

double theory_with_looks(double effect_in_sd, const std::vector<int>& looks, int draws,
                         int threads) {
  const double alpha = kAlpha / static_cast<double>(looks.size());
  const Hits hits = sum_over<Hits>(static_cast<std::uint64_t>(draws), threads,
                                   [&](std::uint64_t index, Hits& total) {
                                     base::Random random(seed_of(1'000'000, index));
                                     std::vector<double> values;
                                     for (const int look : looks) {
                                       while (static_cast<int>(values.size()) < look) {
                                         values.push_back(effect_in_sd + random.normal());
                                       }
                                       if (stats::student_p(values) <= alpha) {
                                         ++total.count;
                                         return;
                                       }
                                     }
                                   });
  return static_cast<double>(hits.count) / draws;
}

}  // namespace abba::simulation
