#include "engine/tensor/convert.h"

#include <cstring>
#include <string>
#include <type_traits>

#include "engine/base/error.h"

namespace abba::tensor {
namespace {

template <typename From, typename To>
void convert_all(const ConstView& from, To* to) {
  const auto count = static_cast<std::size_t>(from.element_count());
  if constexpr (std::is_same_v<From, To>) {
    if (count > 0) std::memcpy(to, from.data(), count * sizeof(To));
  } else {
    base::convert(from.as<From>(), to, count);
  }
}

template <typename To>
void convert_any(const ConstView& from, To* to) {
  ABBA_CHECK(from.is_contiguous());
  switch (from.dtype()) {
    case DType::kF32:
      return convert_all<float>(from, to);
    case DType::kBf16:
      return convert_all<base::Bf16>(from, to);
    case DType::kF16:
      return convert_all<base::F16>(from, to);
    default:
      throw base::Error(base::ErrorCode::kBadInput, std::string(name_of(from.dtype())),
                        "is no floating type of a weight");
  }
}

}  // namespace

void convert(const ConstView& from, float* to) {
  convert_any(from, to);
}
void convert(const ConstView& from, base::Bf16* to) {
  convert_any(from, to);
}

}  // namespace abba::tensor
