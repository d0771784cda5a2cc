#include "engine/cuda/kernels/plain_product.h"

namespace abba::cuda {
namespace {

constexpr std::int64_t kWarps = 8;  // of a block, one output element each

}  // namespace

std::string_view plain_product_refusal(std::int64_t rows, std::int64_t columns) {
  const std::int64_t most = kWarps * kMostGridX;
  if (columns == 0 || rows <= most / columns) return {};
  return "the output has more elements than 8 a block of the largest grid";
}

Geometry plain_product_geometry(std::int64_t rows, std::int64_t columns) {
  return {{ceil_div(rows * columns, kWarps)}, {32, kWarps}};
}

}  // namespace abba::cuda
