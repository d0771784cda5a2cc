// The noise budget: what A/A runs say of the spread of passes and blocks on a machine class. Sizes
// plans; no margin and no verdict is ever made of it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/record/run_record.h"

namespace abba::calibration {

// Of one workload of one subject under one order and number of blocks, pooled over runs.
struct WorkloadNoise {
  std::string workload;
  std::string subject;              // what was measured: see subject_of
  std::set<std::string> manifests;  // ids of the experiments
  std::string boundary;
  record::Order order = record::Order::kAbbaBaab;
  int blocks = 0;  // a pass
  int runs = 0;
  int passes = 0;
  double pass_sd = 0;     // of D_p, log scale; variances weighted by their degrees of freedom
  double block_sd = 0;    // of block contrasts within a pass, log scale
  double pass_s = 0;      // seconds that starting the workers of a pass takes (median)
  double block_s = 0;     // seconds of one block (median)
  double request_ns = 0;  // median of all measured requests
};

// Seconds that a worker took to become ready, by its own account; 0 if it gave none.
[[nodiscard]] double ready_seconds(const record::WorkerProcess& worker);

// Settings, files and worker of a manifest as one text: A/A runs of the same subject measured the
// same program on the same data.
[[nodiscard]] std::string subject_of(const record::Manifest& manifest);

// An A/A run by law, finished, of fresh workers, with at least two passes: its passes measure
// noise.
[[nodiscard]] bool tells_noise(const record::RunRecord& run);

// Groups by workload, boundary, order and blocks, in the order of their first appearance. Runs that
// do not tell_noise are passed over.
[[nodiscard]] std::vector<WorkloadNoise> noise_of(const std::vector<record::RunRecord>& runs);

// The group that fits a manifest's workload best: of the same subject if there is one, then the
// same order, then the same number of blocks; nullptr if no group has a workload of that id.
[[nodiscard]] const WorkloadNoise* noise_for(const std::vector<WorkloadNoise>& noise,
                                             const record::Manifest& manifest,
                                             const std::string& workload);

// Blocks per pass that find the smallest effect in a given time: K* = sqrt(c_pass / c_block x
// var_block / var_pass), where var_pass is what is left of a pass's variance without its blocks'
// share. At least 1, at most 64; 0 if the costs or the spread of blocks are not known.
[[nodiscard]] int best_blocks(const WorkloadNoise& noise);

}  // namespace abba::calibration
