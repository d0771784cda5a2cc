#include "engine/cuda/exactness.h"

namespace abba::cuda {

std::vector<ProvedLevel> prove_exactness(const Settings& settings, std::int64_t hidden) {
  const auto backend = make_backend(settings);
  return ops::prove_exactness(
      *backend, {hidden, {{hidden, hidden}, {4 * hidden, hidden}, {hidden, 4 * hidden}}});
}

}  // namespace abba::cuda
