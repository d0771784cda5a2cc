#include "engine/cuda/range.h"

#include <nvtx3/nvToolsExt.h>

namespace abba::cuda {

void begin_range(const char* name) {
  nvtxRangePushA(name);
}

void end_range() {
  nvtxRangePop();
}

Range::Range(const char* name) {
  begin_range(name);
}

Range::~Range() {
  end_range();
}

}  // namespace abba::cuda
