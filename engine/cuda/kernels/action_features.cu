// action_features: logits[b, k] = raw[b, k], kMaskedLogit for k >= counts[b]; features[b] =
// first[b], top1, top1 - top2 (top2 = 0 for one option), -sum p ln(max(p, 1e-9)) / ln(k), k /
// 255, with p = softmax over the row's own logits in fp32 and k = max(counts[b], 2).
// Mapping: a block a batch row; its first warp takes the options, lane by lane, and all of it
// copies `first`.
// Bytes of a launch: B * (D * (4 + 2) + K * (2 + 4)); some 50 FLOP an option: one launch's
// latency.
// Read in place: raw_logits, counts, first. Copied: first, into its features.
// Preconditions: row_refusal, counts in range.
// Exactness: logits and the copied features bytes, the other features tolerance to the double
// reference; a row's bits depend on its own options alone. A NaN among the options makes the
// first three features NaN.
#include "engine/base/error.h"
#include "engine/cuda/kernels/act_io.cuh"
#include "engine/cuda/kernels/action_features.h"
#include "engine/cuda/kernels/row_geometry.h"

namespace abba::cuda {
namespace {

constexpr int kThreads = 128;

struct FeatureArgs {
  const std::int32_t* counts;
  const float* first;
  float* logits;
  std::int64_t options;  // K
  std::int64_t hidden;   // D
};

__device__ float sum_of_lanes(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, offset);
  }
  return value;
}

// The two largest of all lanes; equal values count as two.
__device__ void two_largest_of_lanes(float& top, float& second) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other_top = __shfl_xor_sync(0xffffffffU, top, offset);
    const float other_second = __shfl_xor_sync(0xffffffffU, second, offset);
    second = fmaxf(fminf(top, other_top), fmaxf(second, other_second));
    top = fmaxf(top, other_top);
  }
}

// By one warp. z: the row's `count` logits as fp32.
__device__ void distribution_features(const float* z, int count,
                                      float (&features)[ops::kActionFeatures]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  float top = -INFINITY;
  float second = -INFINITY;
  for (int i = lane; i < count; i += 32) {
    second = fmaxf(second, fminf(top, z[i]));
    top = fmaxf(top, z[i]);
  }
  two_largest_of_lanes(top, second);
  float total = 0.0F;
  for (int i = lane; i < count; i += 32) total += expf(z[i] - top);
  total = sum_of_lanes(total);
  float entropy = 0.0F;
  for (int i = lane; i < count; i += 32) {
    const float p = expf(z[i] - top) / total;
    entropy -= p * logf(fmaxf(p, 1e-9F));
  }
  entropy = sum_of_lanes(entropy);
  const auto k = static_cast<float>(count > 2 ? count : 2);
  const float p_top = 1.0F / total;
  const float p_second = count > 1 ? expf(second - top) / total : 0.0F;
  features[0] = p_top;
  features[1] = p_top - p_second;
  features[2] = entropy / logf(k);
  features[3] = k / 255.0F;
}

template <typename Act>
__device__ void store_one(Act* to, float value) {
  const float one[] = {value};
  store_values(to, one);
}

template <typename Act>
__global__ void action_features_kernel(FeatureArgs args, const Act* raw_logits, Act* features) {
  const std::int64_t b = blockIdx.x;
  Act* row = features + b * (args.hidden + ops::kActionFeatures);
  for (std::int64_t d = threadIdx.x; d < args.hidden; d += blockDim.x) {
    store_one(row + d, args.first[b * args.hidden + d]);
  }
  if (threadIdx.x >= 32) return;
  float* z = args.logits + b * args.options;
  const int count = args.counts[b];
  for (std::int64_t k = threadIdx.x; k < args.options; k += 32) {
    float raw[1];
    load_values(raw_logits + b * args.options + k, raw);
    z[k] = k < count ? raw[0] : ops::kMaskedLogit;
  }
  __syncwarp();  // z[i] is read by the lane that wrote it, yet the rule is cheap to keep
  float summary[ops::kActionFeatures];
  distribution_features(z, count, summary);
  if (threadIdx.x != 0) return;
#pragma unroll
  for (int i = 0; i < ops::kActionFeatures; ++i) store_one(row + args.hidden + i, summary[i]);
}

using Bf16 = __nv_bfloat16;
const auto kFeaturesBf16 = make_kernel("action_features_bf16", &action_features_kernel<Bf16>);
const auto kFeaturesFp32 = make_kernel("action_features_fp32", &action_features_kernel<float>);

}  // namespace

std::span<const KernelRow> action_features_kernels() {
  static const KernelRow kList[] = {kFeaturesBf16, kFeaturesFp32};
  return kList;
}

void launch_action_features(const ops::ActionFeaturesProblem& problem, const void* raw_logits,
                            const std::int32_t* counts, const float* first, float* logits,
                            void* features, const LaunchContext& context) {
  if (problem.batch == 0) return;
  ABBA_CHECK(row_refusal(problem.batch, problem.hidden).empty());
  ABBA_CHECK(row_refusal(problem.batch, problem.options).empty());
  const Geometry geometry{{problem.batch, 1, 1}, {kThreads, 1, 1}};
  const FeatureArgs args{counts, first, logits, problem.options, problem.hidden};
  if (context.is_bf16()) {
    context.launch(kFeaturesBf16, geometry, args, static_cast<const Bf16*>(raw_logits),
                   static_cast<Bf16*>(features));
  } else {
    context.launch(kFeaturesFp32, geometry, args, static_cast<const float*>(raw_logits),
                   static_cast<float*>(features));
  }
}

}  // namespace abba::cuda
