// The element types a tensor can have, and their C++ types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/half.h"

namespace abba::tensor {

enum class DType : std::uint8_t { kF32, kBf16, kF16, kI32, kI64, kU8 };

[[nodiscard]] std::size_t size_bytes_of(DType dtype);
// The safetensors spelling: "F32", "BF16", "F16", "I32", "I64", "U8".
[[nodiscard]] std::string_view name_of(DType dtype);
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view name);

// DTypeOf<T>::value for float, base::Bf16, base::F16, int32_t, int64_t, uint8_t.
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<base::Bf16> {
  static constexpr DType value = DType::kBf16;
};
template <>
struct DTypeOf<base::F16> {
  static constexpr DType value = DType::kF16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kU8;
};

}  // namespace abba::tensor
