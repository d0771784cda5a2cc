// Compiled once per instruction set (see CMakeLists.txt): instantiates every kernel and lists it.
#include "engine/cpu/attention_kernels.h"
#include "engine/cpu/rope_kernels.h"
#include "engine/cpu/row_kernels.h"

#define ABBA_TEXT_OF(name) #name
#define ABBA_TEXT(name) ABBA_TEXT_OF(name)
#define ABBA_JOINED(left, right) left##right
#define ABBA_TABLE_FUNCTION(isa) ABBA_JOINED(kernels_, isa)

namespace abba::cpu {
namespace ABBA_CPU_ISA {

template <typename Act>
constexpr ActKernels<Act> kernels_of() {
  return {epilogue<Act>, geglu<Act>,     norm<Act>,     add_branch<Act>,
          rope<Act>,     attention<Act>, add_bias<Act>, add_type<Act>};
}

void widen(const Bf16* from, float* to, std::int64_t count) {
  for_each_vector(count, [&](std::int64_t c, std::int64_t some) {
    store_some(to + c, load_some(from + c, some), some);
  });
}

constexpr KernelTable kTable = {ABBA_TEXT(ABBA_CPU_ISA), kernels_of<float>(), kernels_of<Bf16>(),
                                widen};

}  // namespace ABBA_CPU_ISA

const KernelTable& ABBA_TABLE_FUNCTION(ABBA_CPU_ISA)() {
  return ABBA_CPU_ISA::kTable;
}

}  // namespace abba::cpu
