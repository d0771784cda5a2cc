#include "engine/tensor/dtype.h"

#include <array>

#include "engine/base/error.h"

namespace abba::tensor {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size_bytes;
};

// Indexed by DType.
constexpr std::array<Row, 6> kRows = {{{DType::kF32, "F32", 4},
                                       {DType::kBf16, "BF16", 2},
                                       {DType::kF16, "F16", 2},
                                       {DType::kI32, "I32", 4},
                                       {DType::kI64, "I64", 8},
                                       {DType::kU8, "U8", 1}}};

const Row& row_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  ABBA_CHECK(index < kRows.size());
  return kRows[index];
}

}  // namespace

std::size_t size_bytes_of(DType dtype) {
  return row_of(dtype).size_bytes;
}

std::string_view name_of(DType dtype) {
  return row_of(dtype).name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace abba::tensor
