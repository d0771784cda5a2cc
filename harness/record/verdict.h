// What statistics conclude. Effects are ratios B/A - 1: negative = B takes less.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/record/run_record.h"

namespace abba::record {

enum class Word {
  kImproved,
  kRegressed,
  kEquivalent,
  kInconclusive,
  kInvalid,
  // exploratory and `quick` plans
  kFaster,
  kSlower,
  kNoDifferenceSeen,
  // the seeds' rule
  kDisjointMet,
  kDisjointNotMet,
};

struct Interval {
  double low = 0;
  double high = 0;
  double level = 0;  // 0.95; 0 = not estimable
  [[nodiscard]] bool estimable() const { return level > 0; }
};

struct ArmSummary {  // nanoseconds (or the metric's unit)
  std::string arm;
  int pass = -1;  // -1 = pooled over passes (description only)
  std::int64_t count = 0;
  std::int64_t failures = 0;
  double mean = 0;
  double median = 0;
  double p95 = 0;
  double min = 0;
  double mad = 0;
};

struct Verdict {
  std::string workload;
  std::string metric;
  std::string boundary;
  bool primary = false;
  Word word = Word::kInvalid;
  std::string reason;  // one sentence, begins with the word's meaning here
  double effect = 0;   // point estimate, a fraction
  Interval deciding;   // at the level that decided it
  Interval plain95;    // secondary, labelled
  int passes = 0;
  double pass_sd = 0;      // of the pass contrasts, log scale
  double detectable = -1;  // smallest effect this plan would have found, a fraction; -1 = unknown
  int passes_needed = -1;  // that would probably settle it
  double hodges_lehmann = 0;
  Interval signed_rank;
  double sign_flip_p = -1;
  bool sensitivity_agrees = true;
  std::vector<double> pass_effects;  // D_p on the log scale
  std::vector<int> pass_indices;     // index of the pass that each of pass_effects came from
  std::vector<ArmSummary> summaries;
  double p_difference = -1;   // two-sided Student p over passes, unadjusted; -1 = not computed
  double p_equivalence = -1;  // larger of the two one-sided p against the harm limit
  double signed_rank_p = -1;
  Interval carry_over;  // first slot of a block against a later one of the same arm, fraction
  double carry_over_effect = 0;
  std::int64_t blocks_used = 0;
  std::int64_t blocks_tainted = 0;  // shown, in no statistic
  std::int64_t blocks_failed = 0;
};

// What the registered success criterion says over all primary workloads.
enum class Criterion { kNone, kMet, kNotMet, kUndecided };

struct Analysis {
  std::string version;
  bool same_hash_law =
      false;              // the arms are equal: this is an A/A run, no speed claim may be printed
  int passes = 0;         // complete measured passes
  int look = 0;           // 1-based number of the look that decided, 0 = between looks
  int looks = 0;          // looks declared
  double look_level = 0;  // confidence of one look before the family, e.g. 0.975
  bool stopped_early = false;  // decided before the last look
  Criterion criterion = Criterion::kNone;
  std::string headline;  // one sentence: what the run says, words first
  std::vector<Verdict> verdicts;
  std::vector<Note> notes;
};

}  // namespace abba::record
