#include "engine/ops/work.h"

#include <algorithm>

namespace abba::ops {
namespace {

double d(std::int64_t value) {
  return static_cast<double>(value);
}

}  // namespace

std::int64_t act_bytes(Precision precision) {
  return precision == Precision::kBf16 ? 2 : 4;
}

// Mean, centred squares, scale: about 7 operations an element.
Work work_of(const EmbedNormProblem& p, Precision precision) {
  const double elements = d(p.rows) * d(p.hidden);
  return {7.0 * elements, elements * (2.0 + 4.0 + d(act_bytes(precision))) + 4.0 * d(p.hidden)};
}

Work work_of(const NormProblem& p, Precision precision, bool adds_branch) {
  const double elements = d(p.rows) * d(p.hidden);
  const double act = d(act_bytes(precision));
  const double branch_bytes = adds_branch ? act + 4.0 : 0.0;  // branch in, residual out
  return {(adds_branch ? 8.0 : 7.0) * elements,
          elements * (4.0 + act + branch_bytes) + 4.0 * d(p.hidden)};
}

Work work_of(const AddProblem& p, Precision precision) {
  const double elements = d(p.rows) * d(p.hidden);
  return {elements, elements * (8.0 + d(act_bytes(precision)))};
}

// 3 operations an element of q and k, each read and written once; the table is L x 32 pairs.
Work work_of(const RopeProblem& p, Precision precision) {
  const double elements = 2.0 * d(p.batch) * d(p.length) * d(p.heads) * d(kHeadDim);
  return {3.0 * elements,
          2.0 * elements * d(act_bytes(precision)) + d(p.length) * d(kHeadDim) * 4.0};
}

double visible_pairs(std::int64_t length, std::int64_t half_window) {
  if (half_window < 0) return d(length) * d(length);
  double pairs = 0.0;
  for (std::int64_t i = 0; i < length; ++i) {
    pairs +=
        d(std::min(length - 1, i + half_window) - std::max<std::int64_t>(0, i - half_window) + 1);
  }
  return pairs;
}

Work work_of(const AttentionProblem& p, Precision precision) {
  const double width = d(p.heads) * d(kHeadDim);
  return {4.0 * width * d(p.batch) * visible_pairs(p.length, p.half_window),
          4.0 * d(p.batch) * d(p.length) * width * d(act_bytes(precision))};
}

Work work_of(const SubsetAttentionProblem& p, Precision precision) {
  const double width = d(p.heads) * d(kHeadDim);
  return {4.0 * width * d(p.batch) * d(p.queries) * d(p.keys),
          2.0 * d(p.batch) * (d(p.keys) + d(p.queries)) * width * d(act_bytes(precision))};
}

Work work_of(const TransposeHeadsProblem& p, Precision precision) {
  return {0.0, 2.0 * d(p.batch) * d(p.rows) * d(p.heads) * d(kHeadDim) * d(act_bytes(precision))};
}

Work work_of(const MatmulProblem& p, Precision precision) {
  const double act = d(act_bytes(precision));
  const double weight_rows = d(p.columns) * (p.epilogue == Epilogue::kGeglu ? 2.0 : 1.0);
  return {2.0 * d(p.rows) * weight_rows * d(p.depth),
          act * (d(p.rows) * d(p.depth) + weight_rows * d(p.depth) + d(p.rows) * d(p.columns))};
}

Work work_of(const BiasProblem& p, Precision precision) {
  const double elements = d(p.rows) * d(p.columns);
  return {elements, 2.0 * elements * d(act_bytes(precision)) + 4.0 * d(p.columns)};
}

Work work_of(const GegluProblem& p, Precision precision) {
  const double elements = d(p.rows) * d(p.columns);
  return {10.0 * elements, elements * (8.0 + d(act_bytes(precision)))};
}

Work work_of(const TypeEmbeddingProblem& p, Precision precision) {
  const double elements = d(p.batch) * d(p.length) * d(p.hidden);
  return {elements, elements * (d(act_bytes(precision)) + 4.0)};
}

Work work_of(const GatherProblem& p, std::int64_t element_bytes) {
  return {0.0, 2.0 * d(p.picked) * d(p.hidden) * d(element_bytes)};
}

Work work_of(const ActionFeaturesProblem& p, Precision precision) {
  const double options = d(p.batch) * d(p.options);
  const double act = d(act_bytes(precision));
  return {8.0 * options,
          options * (act + 4.0) +
              d(p.batch) * (4.0 * d(p.hidden) + act * d(p.hidden + kActionFeatures))};
}

}  // namespace abba::ops
