// The weights phase: each tensor is converted on the host to what the kernels read and copied to
// the device once.
#include <cuda_runtime_api.h>

#include <cmath>
#include <utility>

#include "engine/base/error.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/runtime_error.h"
#include "engine/tensor/convert.h"

namespace abba::cuda {
namespace {

using tensor::Buffer;
using tensor::ConstView;
using tensor::DType;

// Any contiguous floating tensor as fp32 or bf16.
Buffer as_type(ConstView from, DType type) {
  Buffer to(type, from.shape());
  if (type == DType::kBf16) {
    tensor::convert(from, to.as<base::Bf16>());
  } else {
    tensor::convert(from, to.as<float>());
  }
  return to;
}

}  // namespace

// A second weight of one name gets a name of its own: lookups by name must not confuse them.
ops::WeightId CudaBackend::keep(Weight weight) {
  const auto index = static_cast<std::int32_t>(weights_.size());
  if (weight_by_name_.count(weight.name) != 0) weight.name += " #" + std::to_string(index);
  weight_by_name_[weight.name] = index;
  weights_.push_back(std::move(weight));
  return {index};
}

void CudaBackend::copy_to_device(std::byte* to, const void* from, std::size_t size_bytes) {
  require(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyHostToDevice, stream_.get()),
          "copying a weight to the device");
  stream_.synchronize();
}

std::byte* CudaBackend::place(std::string_view name, ConstView host) {
  std::byte* to = weight_memory_.take(host.size_bytes(), name);
  copy_to_device(to, host.data(), host.size_bytes());
  return to;
}

// The one place that reads the level of `handles` for weights.
const CudaBackend::Weight& CudaBackend::weight(ops::WeightId id, WeightKind kind) const {
  ABBA_CHECK(id.is_valid() && static_cast<std::size_t>(id.index) < weights_.size());
  const auto* found = &weights_[static_cast<std::size_t>(id.index)];
  if (settings_.choices.handles == ops::Handles::kPerLaunch) {
    found = &weights_[static_cast<std::size_t>(weight_by_name_.find(found->name)->second)];
  }
  ABBA_CHECK(found->kind == kind);
  return *found;
}

const float* CudaBackend::vector(ops::WeightId id, std::int64_t count) const {
  if (!id.is_valid()) return nullptr;
  const Weight& found = weight(id, WeightKind::kVector);
  ABBA_CHECK(found.shape.element_count() == count);
  return reinterpret_cast<const float*>(found.data);
}

ops::WeightId CudaBackend::prepare_matrix(std::string_view name, ConstView weight) {
  ABBA_CHECK(weight.is_contiguous() && weight.shape().rank() == 2);
  Weight made{WeightKind::kMatrix, std::string(name), weight.shape(), act(), nullptr, nullptr};
  made.data =
      weight.dtype() == act() ? place(name, weight) : place(name, as_type(weight, act()).view());
  return keep(std::move(made));
}

// fp32 for the kernels; a bias is rounded to act first and also kept as act, which is what the
// library's epilogue reads.
ops::WeightId CudaBackend::prepare_vector(std::string_view name, ConstView weight,
                                          ops::VectorRole role) {
  Weight made{WeightKind::kVector, std::string(name), weight.shape(),
              DType::kF32,         nullptr,           nullptr};
  Buffer values = as_type(weight, DType::kF32);
  if (role == ops::VectorRole::kBias) {
    const Buffer rounded = as_type(values.view(), act());
    made.rounded = place(name, rounded.view());
    values = as_type(rounded.view(), DType::kF32);
  }
  made.data = place(name, values.view());
  return keep(std::move(made));
}

ops::WeightId CudaBackend::prepare_table(std::string_view name, ConstView weight) {
  ABBA_CHECK(weight.is_contiguous() && weight.shape().rank() == 2);
  return keep({WeightKind::kTable, std::string(name), weight.shape(), weight.dtype(),
               place(name, weight), nullptr});
}

ops::WeightId CudaBackend::prepare_type_table(std::string_view name, ConstView weight) {
  const Buffer rounded = as_type(weight, act());
  return keep({WeightKind::kTypeTable, std::string(name), weight.shape(), act(),
               place(name, rounded.view()), nullptr});
}

// The same host arithmetic as the CPU's: the angle is a float32 product of float32 factors, cos and
// sin of it in double, rounded to float32, then to act.
ops::WeightId CudaBackend::prepare_rope(float theta, std::int64_t positions) {
  constexpr std::int64_t kHalf = ops::kHeadDim / 2;
  Buffer values(DType::kF32, tensor::Shape{positions, ops::kHeadDim});
  float* table = values.as<float>();
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
  if (act() == DType::kBf16) {
    for (std::int64_t i = 0; i < values.shape().element_count(); ++i) {
      table[i] = base::round_to_bf16(table[i]);
    }
  }
  const std::string name = "rope table of theta " + std::to_string(theta);
  return keep(
      {WeightKind::kRope, name, values.shape(), DType::kF32, place(name, values.view()), nullptr});
}

}  // namespace abba::cuda
