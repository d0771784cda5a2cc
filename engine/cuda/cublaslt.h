// Owners of cuBLASLt's objects, one handle each: movable, their destructors never throw. The types
// behind the pointers are the library's; only cublaslt.cpp and product.cpp see them. Descriptors,
// layouts and preferences are host memory and can be made without a GPU, a handle cannot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/tensor/dtype.h"

namespace abba::cuda {

// What the library does to the fp32 accumulator before it rounds once to the output's type. The
// bias has the output's type.
enum class Finish { kNone, kBias, kRelu, kReluBias };

struct DestroyLtHandle {
  void operator()(void* handle) const noexcept;
};
struct DestroyMatmulDescriptor {
  void operator()(void* descriptor) const noexcept;
};
struct DestroyMatrixLayout {
  void operator()(void* layout) const noexcept;
};
struct DestroyMatmulPreference {
  void operator()(void* preference) const noexcept;
};

using LtHandle = std::unique_ptr<void, DestroyLtHandle>;
using MatmulDescriptor = std::unique_ptr<void, DestroyMatmulDescriptor>;
using MatrixLayout = std::unique_ptr<void, DestroyMatrixLayout>;
using MatmulPreference = std::unique_ptr<void, DestroyMatmulPreference>;

// Each throws base::Error(kBroken) with the library's reason.
LtHandle make_lt_handle();
// A^T B with fp32 accumulation and no TF32; `bias` is a device address, null without a bias.
MatmulDescriptor make_matmul_descriptor(Finish finish, const void* bias, tensor::DType bias_type);
// Column-major, packed: what is row-major [columns, rows] here.
MatrixLayout make_matrix_layout(tensor::DType type, std::int64_t rows, std::int64_t columns);
// No reduction scheme, so that no product is split along K: one order of additions. Addresses are
// taken to be multiples of kProductAlignmentBytes.
MatmulPreference make_matmul_preference(std::size_t workspace_bytes);

inline constexpr std::size_t kProductAlignmentBytes = 16;

// "13.1.0"
std::string lt_version_text();
std::size_t lt_version();
// Throws base::Error(kBroken) unless `status` (cublasStatus_t) is success.
void require_lt(int status, const std::string& what);

}  // namespace abba::cuda
