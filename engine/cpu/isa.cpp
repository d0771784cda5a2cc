#include "engine/cpu/isa.h"

#include <dnnl.hpp>

#include "engine/base/error.h"

namespace abba::cpu {
namespace {

using base::Error;
using base::ErrorCode;

}  // namespace

Capabilities capabilities() {
  __builtin_cpu_init();
  Capabilities found;
  found.avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  found.avx512 = found.avx2 && __builtin_cpu_supports("avx512f") != 0 &&
                 __builtin_cpu_supports("avx512bw") != 0 &&
                 __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  found.avx512_bf16 = found.avx512 && __builtin_cpu_supports("avx512bf16") != 0 &&
                      __builtin_cpu_supports("avx512vnni") != 0;
  return found;
}

Isa resolve(Isa wanted) {
  const Capabilities found = capabilities();
  if (!found.avx2) {
    throw Error(ErrorCode::kPreflight, "cpu",
                "this machine lacks AVX2 or FMA, the least the engine needs; run it on an x86-64 "
                "processor of 2013 or later");
  }
  if (wanted == Isa::kAvx512 && !found.avx512) {
    throw Error(ErrorCode::kPreflight, "isa",
                "avx512 was asked for and this machine has avx2 only; "
                "ask for auto or avx2");
  }
  if (wanted != Isa::kAuto) return wanted;
  return found.avx512 ? Isa::kAvx512 : Isa::kAvx2;
}

ProductPath resolve(ProductPath wanted) {
  const bool has_bf16 = capabilities().avx512_bf16;
  if (wanted == ProductPath::kAvx512Bf16 && !has_bf16) {
    throw Error(ErrorCode::kPreflight, "product",
                "avx512_bf16 was asked for and this machine has no bf16 product; ask for auto or "
                "widened");
  }
  if (wanted != ProductPath::kAuto) return wanted;
  return has_bf16 ? ProductPath::kAvx512Bf16 : ProductPath::kWidened;
}

Description describe(Isa isa, ProductPath product) {
  const dnnl_version_t* version = dnnl_version();
  Description description;
  description.isa = resolve(isa) == Isa::kAvx512 ? "avx512" : "avx2";
  description.product = resolve(product) == ProductPath::kAvx512Bf16 ? "avx512_bf16" : "widened";
  description.library = "oneDNN " + std::to_string(version->major) + "." +
                        std::to_string(version->minor) + "." + std::to_string(version->patch);
  return description;
}

}  // namespace abba::cpu
