#include "engine/cpu/exactness.h"

namespace abba::cpu {

// The widened product works in panels, so the columns beyond one do not matter; the library's bf16
// product picks its blocks by the whole shape, so there the network's own shapes are tried.
std::vector<ProvedLevel> prove_exactness(const Settings& settings, std::int64_t hidden) {
  constexpr std::int64_t kPanelAndAHalf = 192;
  const auto backend = make_backend(settings);
  const bool is_panelled = settings.precision == ops::Precision::kFp32 ||
                           resolve(settings.product) == ProductPath::kWidened;
  ops::ProofSizes sizes{hidden, {{kPanelAndAHalf, hidden}, {kPanelAndAHalf, 4 * hidden}}};
  sizes.split_rows = is_panelled ? 74 : 512;
  if (!is_panelled) {
    sizes.products = {{hidden, hidden}, {4 * hidden, hidden}, {hidden, 4 * hidden}};
  }
  return ops::prove_exactness(*backend, sizes);
}

}  // namespace abba::cpu
