#include "tests/unit/cpu/test_data.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace abba::cpu {

std::vector<Way> ways() {
  std::vector<Way> all = {{Precision::kFp32, Isa::kAvx2, ProductPath::kWidened, 1},
                          {Precision::kBf16, Isa::kAvx2, ProductPath::kWidened, 1},
                          {Precision::kBf16, Isa::kAvx2, ProductPath::kWidened, 2}};
  if (capabilities().avx512) {
    all.push_back({Precision::kFp32, Isa::kAvx512, ProductPath::kWidened, 1});
    all.push_back({Precision::kBf16, Isa::kAvx512, ProductPath::kWidened, 2});
  }
  if (capabilities().avx512_bf16) {
    all.push_back({Precision::kBf16, Isa::kAvx512, ProductPath::kAvx512Bf16, 1});
    all.push_back({Precision::kBf16, Isa::kAvx512, ProductPath::kAvx512Bf16, 2});
  }
  return all;
}

std::vector<Way> ways_with_one_row_order() {
  std::vector<Way> chosen = ways();
  std::erase_if(chosen, [](const Way& way) { return way.product == ProductPath::kAvx512Bf16; });
  return chosen;
}

std::string way_name(const testing::TestParamInfo<Way>& info) {
  const Way& way = info.param;
  return std::string(ops::name_of(way.precision)) + (way.isa == Isa::kAvx2 ? "_avx2" : "_avx512") +
         (way.product == ProductPath::kWidened ? "_widened_" : "_product_") +
         std::to_string(way.threads);
}

std::unique_ptr<ops::Backend> backend_of(const Way& way) {
  Settings settings;
  settings.precision = way.precision;
  settings.isa = way.isa;
  settings.product = way.product;
  settings.threads = way.threads;
  return make_backend(settings);
}

Buffer EveryWay::random(DType dtype, const Shape& shape, float scale) {
  Buffer values(DType::kF32, shape);
  for (std::int64_t i = 0; i < shape.element_count(); ++i) {
    values.as<float>()[i] = scale * random_.uniform_float(-1.0F, 1.0F);
  }
  if (dtype == DType::kF32) return values;
  Buffer narrow(dtype, shape);
  base::convert(values.as<float>(), narrow.as<base::Bf16>(),
                static_cast<std::size_t>(shape.element_count()));
  return narrow;
}

Buffer EveryWay::output(DType dtype, const Shape& shape) const {
  Buffer buffer(dtype, shape);
  buffer.poison();
  return buffer;
}

Values EveryWay::as_act(const Buffer& values) const {
  return is_bf16() ? ops::reference::round_bf16(values_of(values)) : values_of(values);
}

Buffer integers(const std::vector<std::int32_t>& values) {
  Buffer buffer(DType::kI32, Shape{static_cast<std::int64_t>(values.size())});
  std::memcpy(buffer.view().data(), values.data(), buffer.view().size_bytes());
  return buffer;
}

Values values_of(const Buffer& buffer) {
  const std::int64_t count = buffer.view().element_count();
  Values values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_wide = buffer.dtype() == DType::kF32;
    values[static_cast<std::size_t>(i)] =
        is_wide ? buffer.as<float>()[i] : base::to_float(buffer.as<base::Bf16>()[i]);
  }
  return values;
}

Buffer copy_of(const Buffer& buffer) {
  Buffer copy(buffer.dtype(), buffer.shape());
  std::memcpy(copy.view().data(), buffer.view().data(), copy.view().size_bytes());
  return copy;
}

void make_adversarial(Buffer& buffer) {
  const std::int64_t columns = buffer.view().columns();
  const auto set = [&](std::int64_t index, float value) {
    if (buffer.dtype() == DType::kF32) {
      buffer.as<float>()[index] = value;
    } else {
      buffer.as<base::Bf16>()[index] = base::to_bf16(value);
    }
  };
  for (std::int64_t row = 0; row < buffer.view().rows(); ++row) {
    set(row * columns + columns / 2, row % 2 == 0 ? 3e4F : -3e4F);
    if (columns > 1) set(row * columns, 1e-39F);
  }
  for (std::int64_t c = 0; c < columns; ++c) set(c, 0.75F);
}

double worst_error(const Values& computed, const Values& expected, double relative,
                   double absolute) {
  if (computed.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double worst = 0.0;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const double error = std::abs(computed[i] - expected[i]);
    if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, error / (absolute + relative * std::abs(expected[i])));
  }
  return worst;
}

std::int64_t differing_bits(const Buffer& a, const Buffer& b) {
  EXPECT_EQ(a.view().size_bytes(), b.view().size_bytes());
  const std::size_t size = tensor::size_bytes_of(a.dtype());
  const auto* left = static_cast<const std::byte*>(a.view().data());
  const auto* right = static_cast<const std::byte*>(b.view().data());
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.view().size_bytes(); i += size) {
    count += std::memcmp(left + i, right + i, size) != 0 ? 1 : 0;
  }
  return count;
}

}  // namespace abba::cpu
