#include "engine/cuda/range.h"

#include <nvtx3/nvToolsExt.h>

namespace abba::cuda {

Range::Range(const char* name) {
  nvtxRangePushA(name);
}

Range::~Range() {
  nvtxRangePop();
}

}  // namespace abba::cuda
