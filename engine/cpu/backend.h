// The CPU backend: ops::Backend computed on the host, in bf16 by the recipe of the numerics page or
// in fp32 for checking. It owns prepared weights and scratch; what its threads and instructions are
// is fixed when it is made. Refuses machines without AVX2 and settings the machine cannot honour.
#pragma once

#include <memory>

#include "engine/cpu/isa.h"
#include "engine/ops/backend.h"

namespace abba::cpu {

struct Settings {
  ops::Precision precision = ops::Precision::kBf16;
  ops::Choices choices;
  int threads = 1;  // exactly so many compute; results do not depend on it
  ProductPath product = ProductPath::kAuto;
  Isa isa = Isa::kAuto;
};

// Throws Error(kBadInput) for a thread count outside 1..256, Error(kPreflight) as resolve() does.
[[nodiscard]] std::unique_ptr<ops::Backend> make_backend(const Settings& settings);

}  // namespace abba::cpu
