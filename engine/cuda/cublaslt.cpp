#include "engine/cuda/cublaslt.h"

#include <cublasLt.h>

#include "engine/base/error.h"

namespace abba::cuda {
namespace {

cudaDataType_t type_of(tensor::DType type) {
  ABBA_CHECK(type == tensor::DType::kBf16 || type == tensor::DType::kF32);
  return type == tensor::DType::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasLtEpilogue_t epilogue_of(Finish finish) {
  switch (finish) {
    case Finish::kBias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Finish::kRelu:
      return CUBLASLT_EPILOGUE_RELU;
    case Finish::kReluBias:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    default:
      return CUBLASLT_EPILOGUE_DEFAULT;
  }
}

template <typename T>
void set(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t attribute, T value) {
  require_lt(cublasLtMatmulDescSetAttribute(descriptor, attribute, &value, sizeof(value)),
             "describing a product");
}

template <typename T>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         T value) {
  require_lt(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
             "stating preferences");
}

}  // namespace

void DestroyLtHandle::operator()(void* handle) const noexcept {
  cublasLtDestroy(static_cast<cublasLtHandle_t>(handle));
}
void DestroyMatmulDescriptor::operator()(void* descriptor) const noexcept {
  cublasLtMatmulDescDestroy(static_cast<cublasLtMatmulDesc_t>(descriptor));
}
void DestroyMatrixLayout::operator()(void* layout) const noexcept {
  cublasLtMatrixLayoutDestroy(static_cast<cublasLtMatrixLayout_t>(layout));
}
void DestroyMatmulPreference::operator()(void* preference) const noexcept {
  cublasLtMatmulPreferenceDestroy(static_cast<cublasLtMatmulPreference_t>(preference));
}

LtHandle make_lt_handle() {
  cublasLtHandle_t handle = nullptr;
  require_lt(cublasLtCreate(&handle), "starting the library");
  return LtHandle(handle);
}

MatmulDescriptor make_matmul_descriptor(Finish finish, const void* bias, tensor::DType bias_type) {
  cublasLtMatmulDesc_t made = nullptr;
  require_lt(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F),
             "describing a product");
  MatmulDescriptor owner(made);
  set(made, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  set(made, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
  set(made, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(finish));
  if (bias != nullptr) {
    set(made, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    set(made, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(bias_type));
  }
  return owner;
}

MatrixLayout make_matrix_layout(tensor::DType type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t made = nullptr;
  require_lt(cublasLtMatrixLayoutCreate(&made, type_of(type), static_cast<std::uint64_t>(rows),
                                        static_cast<std::uint64_t>(columns), rows),
             "describing a matrix");
  return MatrixLayout(made);
}

MatmulPreference make_matmul_preference(std::size_t workspace_bytes) {
  cublasLtMatmulPreference_t made = nullptr;
  require_lt(cublasLtMatmulPreferenceCreate(&made), "stating preferences");
  MatmulPreference owner(made);
  set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes});
  set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE));
  for (const auto alignment :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(made, alignment, static_cast<std::uint32_t>(kProductAlignmentBytes));
  }
  return owner;
}

std::size_t lt_version() {
  return cublasLtGetVersion();
}

std::string lt_version_text() {
  const std::size_t version = lt_version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void require_lt(int status, const std::string& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw base::Error(
      base::ErrorCode::kBroken, "cuBLASLt",
      "failed while " + what + ": " + cublasLtGetStatusString(static_cast<cublasStatus_t>(status)));
}

}  // namespace abba::cuda
