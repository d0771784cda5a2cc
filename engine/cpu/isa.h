// Which instructions this machine has and which way of multiplying matrices follows from them.
// Decided once, when a backend is made; a setting may ask for less than the machine has.
#pragma once

#include <string>

namespace abba::cpu {

// kAuto takes the widest there is. A set that the machine lacks is refused.
enum class Isa { kAuto, kAvx2, kAvx512 };

// How bf16 matrices are multiplied. kWidened: bf16 values are widened to fp32, panel by panel, and
// multiplied there; kAvx512Bf16: oneDNN's bf16 product on packed weights. kAuto takes kAvx512Bf16
// where the machine has it. The fp32 precision has one way only and ignores this.
enum class ProductPath { kAuto, kWidened, kAvx512Bf16 };

struct Capabilities {
  bool avx2 = false;         // with FMA: the least that is needed
  bool avx512 = false;       // F, BW, DQ, VL
  bool avx512_bf16 = false;  // and what the library needs for its bf16 product
};
[[nodiscard]] Capabilities capabilities();

// Never kAuto. Throw Error(kPreflight) if the machine lacks what is asked for, or AVX2 at all.
[[nodiscard]] Isa resolve(Isa wanted);
[[nodiscard]] ProductPath resolve(ProductPath wanted);

struct Description {
  std::string isa;      // of our kernels: "avx2", "avx512"
  std::string product;  // "widened", "avx512_bf16", or "fp32" in that precision
  std::string library;  // "oneDNN 2.6.3"
};
// What a backend made with these settings would run on; resolves and refuses as above.
[[nodiscard]] Description describe(Isa isa = Isa::kAuto, ProductPath product = ProductPath::kAuto);

}  // namespace abba::cpu
