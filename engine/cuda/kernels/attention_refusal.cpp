#include <cstdint>
#include <initializer_list>

#include "engine/cuda/kernels/attention.h"

namespace abba::cuda {
namespace {

using ops::Precision;
using tensor::ConstView;
using tensor::DType;

// Whether the product of extents >= 0 is at most kMostElements.
bool is_countable(std::initializer_list<std::int64_t> extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    if (extent == 0) return true;
  }
  for (const std::int64_t extent : extents) {
    if (product > kMostElements / extent) return false;
    product *= extent;
  }
  return true;
}

std::string_view refusal_of_sizes(const AttentionExtent& extent) {
  if (extent.batch < 0 || extent.queries < 0 || extent.keys < 0 || extent.heads < 0) {
    return "attention takes no negative size";
  }
  if (extent.keys > kMostAttentionKeys) return "attention takes at most 8192 keys a batch row";
  if (extent.queries > kMostAttentionKeys)
    return "attention takes at most 8192 queries a batch row";
  if (extent.heads > kMostAttentionHeads) return "attention takes at most 64 heads";
  return {};
}

constexpr std::string_view kTooMany =
    "attention takes at most 4294967295 elements in each tensor; split the batch";

std::string_view refusal_of_memory(ConstView view, DType dtype, std::int64_t elements,
                                   std::uintptr_t alignment) {
  if (view.dtype() != dtype) return "attention was given memory of another element type";
  if (elements == 0) return {};
  if (view.is_null()) return "attention was given no memory";
  if (view.element_count() != elements) {
    return "attention was given memory of another number of elements than its sizes say";
  }
  if (!view.is_contiguous()) return "attention reads contiguous memory; copy the strided view";
  if (reinterpret_cast<std::uintptr_t>(view.data()) % alignment != 0) {
    return "attention reads 16-byte aligned memory; copy the view";
  }
  return {};
}

std::string_view refusal_of_lengths(ConstView lengths, std::int64_t batch) {
  const bool is_one_run = lengths.columns() == batch || lengths.rows() == batch;
  if (lengths.element_count() != batch || !is_one_run) {
    return "attention takes one length for each batch row";
  }
  return refusal_of_memory(lengths, DType::kI32, batch, sizeof(std::int32_t));
}

std::string_view first_of(std::initializer_list<std::string_view> refusals) {
  for (const std::string_view refusal : refusals) {
    if (!refusal.empty()) return refusal;
  }
  return {};
}

DType act_of(Precision precision) {
  return precision == Precision::kBf16 ? DType::kBf16 : DType::kF32;
}

}  // namespace

std::string_view attention_refusal(const ops::AttentionProblem& p) {
  const std::string_view refusal = refusal_of_sizes(extent_of(p));
  if (!refusal.empty()) return refusal;
  return is_countable({p.batch, p.length, 3, p.heads, ops::kHeadDim}) ? std::string_view()
                                                                      : kTooMany;
}

std::string_view attention_refusal(const ops::SubsetAttentionProblem& p) {
  const std::string_view refusal = refusal_of_sizes(extent_of(p));
  if (!refusal.empty()) return refusal;
  const bool fits = is_countable({p.batch, p.queries, p.heads, ops::kHeadDim}) &&
                    is_countable({p.batch, p.keys, 2, p.heads, ops::kHeadDim});
  return fits ? std::string_view() : kTooMany;
}

std::string_view attention_refusal(const ops::AttentionProblem& p, Precision precision,
                                   ConstView qkv, ConstView lengths, tensor::View out) {
  const std::string_view refusal = attention_refusal(p);
  if (!refusal.empty()) return refusal;
  const std::int64_t values = p.batch * p.length * p.heads * ops::kHeadDim;
  return first_of({refusal_of_memory(qkv, act_of(precision), 3 * values, 16),
                   refusal_of_lengths(lengths, p.batch),
                   refusal_of_memory(out, act_of(precision), values, 16)});
}

std::string_view attention_refusal(const ops::SubsetAttentionProblem& p, Precision precision,
                                   ConstView q, ConstView kv, ConstView lengths, tensor::View out) {
  const std::string_view refusal = attention_refusal(p);
  if (!refusal.empty()) return refusal;
  const std::int64_t width = p.heads * ops::kHeadDim;
  const DType act = act_of(precision);
  return first_of({refusal_of_memory(q, act, p.batch * p.queries * width, 16),
                   refusal_of_memory(kv, act, p.batch * p.keys * 2 * width, 16),
                   refusal_of_lengths(lengths, p.batch),
                   refusal_of_memory(out, act, p.batch * p.queries * width, 16)});
}

}  // namespace abba::cuda
