// How much work an operation is: floating-point operations (a multiply-add counts 2) and the bytes
// that must cross memory at least once (inputs, weights and outputs, each once). Estimates are made
// of sizes alone; they feed rooflines and the worker's `prepare` answer, never a decision.
#pragma once

#include <cstdint>

#include "engine/ops/problem.h"

namespace abba::ops {

struct Work {
  double flops = 0.0;
  double bytes = 0.0;
  Work& operator+=(const Work& other) {
    flops += other.flops;
    bytes += other.bytes;
    return *this;
  }
};

std::int64_t act_bytes(Precision precision);  // 2 or 4

Work work_of(const EmbedNormProblem& problem, Precision precision);  // table rows counted as F16
Work work_of(const NormProblem& problem, Precision precision, bool adds_branch);
Work work_of(const AddProblem& problem, Precision precision);
Work work_of(const RopeProblem& problem, Precision precision);
Work work_of(const AttentionProblem& problem, Precision precision);
Work work_of(const SubsetAttentionProblem& problem, Precision precision);
Work work_of(const TransposeHeadsProblem& problem, Precision precision);
Work work_of(const MatmulProblem& problem, Precision precision);
Work work_of(const BiasProblem& problem, Precision precision);
Work work_of(const GegluProblem& problem, Precision precision);
Work work_of(const TypeEmbeddingProblem& problem, Precision precision);
Work work_of(const GatherProblem& problem, std::int64_t element_bytes);
Work work_of(const ActionFeaturesProblem& problem, Precision precision);

// Visible (query, key) pairs of one head and one batch row of full length:
// sum over i of min(L - 1, i + w) - max(0, i - w) + 1, or L^2 for full attention.
double visible_pairs(std::int64_t length, std::int64_t half_window);

}  // namespace abba::ops
