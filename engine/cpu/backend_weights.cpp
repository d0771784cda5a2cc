// The weights phase: each tensor is copied once, converted to what the kernels read.
#include <cmath>
#include <utility>

#include "engine/cpu/cpu_backend.h"
#include "engine/tensor/convert.h"

namespace abba::cpu {
namespace {

using tensor::DType;

// Any floating tensor as fp32.
tensor::Buffer as_floats(tensor::ConstView from) {
  tensor::Buffer to(DType::kF32, from.shape());
  tensor::convert(from, to.as<float>());
  return to;
}

void round_all(tensor::Buffer& values) {
  float* v = values.as<float>();
  for (std::int64_t i = 0; i < values.view().element_count(); ++i) v[i] = base::round_to_bf16(v[i]);
}

}  // namespace

ops::WeightId CpuBackend::keep(Weight weight) {
  if (!weight.values.view().is_null()) weight_bytes_ += weight.values.view().size_bytes();
  weights_.push_back(std::move(weight));
  return {static_cast<std::int32_t>(weights_.size()) - 1};
}

ops::WeightId CpuBackend::prepare_matrix(std::string_view name, tensor::ConstView weight) {
  Weight made;
  made.kind = WeightKind::kMatrix;
  made.matrix = product_->add_weight(name, weight);
  return keep(std::move(made));
}

ops::WeightId CpuBackend::prepare_vector(std::string_view, tensor::ConstView weight,
                                         ops::VectorRole role) {
  Weight made;
  made.kind = WeightKind::kVector;
  made.values = as_floats(weight);
  const bool is_rounded = role == ops::VectorRole::kBias && act() == DType::kBf16;
  if (is_rounded) round_all(made.values);
  return keep(std::move(made));
}

ops::WeightId CpuBackend::prepare_table(std::string_view, tensor::ConstView weight) {
  ABBA_CHECK(weight.is_contiguous() && weight.shape().rank() == 2);
  Weight made;
  made.kind = WeightKind::kTable;
  made.table = weight;
  return keep(std::move(made));
}

ops::WeightId CpuBackend::prepare_type_table(std::string_view, tensor::ConstView weight) {
  Weight made;
  made.kind = WeightKind::kTypeTable;
  made.values = as_floats(weight);
  if (act() == DType::kBf16) {
    tensor::Buffer rounded(DType::kBf16, weight.shape());
    tensor::convert(made.values.view(), rounded.as<base::Bf16>());
    made.values = std::move(rounded);
  }
  return keep(std::move(made));
}

// The angle is a float32 product of float32 factors, as the model's authors compute it; cos and sin
// of it in double, rounded to float32, then to act.
ops::WeightId CpuBackend::prepare_rope(float theta, std::int64_t positions) {
  constexpr std::int64_t kHalf = ops::kHeadDim / 2;
  Weight made;
  made.kind = WeightKind::kRope;
  made.values = tensor::Buffer(DType::kF32, tensor::Shape{positions, ops::kHeadDim});
  float* table = made.values.as<float>();
  for (std::int64_t d = 0; d < kHalf; ++d) {
    const double exponent = static_cast<double>(2 * d) / static_cast<double>(ops::kHeadDim);
    const float frequency =
        1.0F / static_cast<float>(std::pow(static_cast<double>(theta), exponent));
    for (std::int64_t position = 0; position < positions; ++position) {
      const double angle = static_cast<float>(position) * frequency;
      table[position * ops::kHeadDim + d] = static_cast<float>(std::cos(angle));
      table[position * ops::kHeadDim + kHalf + d] = static_cast<float>(std::sin(angle));
    }
  }
  if (act() == DType::kBf16) round_all(made.values);
  return keep(std::move(made));
}

}  // namespace abba::cpu
