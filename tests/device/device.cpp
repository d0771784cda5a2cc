#include "tests/device/device.h"

#include <cstdlib>
#include <cstring>
#include <optional>

#ifdef ABBA_WITH_CUDA
#include "engine/cuda/backend.h"
#include "engine/cuda/device.h"
#endif

namespace abba::device {
namespace {

constexpr std::size_t kGuardBytes = 256;

bool is_set(const char* variable, const char* value) {
  const char* found = std::getenv(variable);
  return found != nullptr && std::strcmp(found, value) == 0;
}

#ifdef ABBA_WITH_CUDA
std::optional<std::string> visible_devices() {
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}
#endif

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

}  // namespace

std::vector<Way> ways() {
  return {{Kind::kCpu, Precision::kFp32},
          {Kind::kCpu, Precision::kBf16},
          {Kind::kCuda, Precision::kFp32},
          {Kind::kCuda, Precision::kBf16}};
}

std::vector<Way> cuda_ways() {
  return {{Kind::kCuda, Precision::kFp32}, {Kind::kCuda, Precision::kBf16}};
}

std::string name_of(const Way& way) {
  return (way.kind == Kind::kCpu ? "cpu_" : "cuda_") + std::string(ops::name_of(way.precision));
}

std::string way_name(const testing::TestParamInfo<Way>& info) {
  return name_of(info.param);
}

bool is_cuda_required() {
  return is_set("ABBA_REQUIRE_CUDA", "1");
}

const std::string& why_no_cuda() {
#ifdef ABBA_WITH_CUDA
  static const std::string reason = cuda::find_device(0, visible_devices()).unavailable;
#else
  static const std::string reason =
      "this build has no CUDA in it: no toolkit was found when it was configured";
#endif
  return reason;
}

std::unique_ptr<ops::Backend> make_backend(const Way& way, const ops::Choices& choices,
                                           int threads) {
#ifdef ABBA_WITH_CUDA
  if (way.kind == Kind::kCuda) {
    cuda::Settings settings;
    settings.precision = way.precision;
    settings.choices = choices;
    return cuda::make_backend(settings);
  }
#endif
  ABBA_CHECK(way.kind == Kind::kCpu);
  cpu::Settings settings;
  settings.precision = way.precision;
  settings.choices = choices;
  settings.threads = threads;
  return cpu::make_backend(settings);
}

bool promises_one_row_order(const ops::Backend& backend) {
  return backend.name() != "cpu" || backend.precision() == Precision::kFp32 ||
         backend.product_path().find("widened") != std::string::npos;
}

Tensor::Tensor(ops::Backend& backend, DType dtype, const Shape& shape)
    : backend_(backend),
      dtype_(dtype),
      shape_(shape),
      size_bytes_(static_cast<std::size_t>(shape.element_count()) * tensor::size_bytes_of(dtype)),
      arena_(backend.make_arena(2 * kGuardBytes + rounded_up(size_bytes_))) {
  put(nullptr);
}

Tensor::Tensor(ops::Backend& backend, const Buffer& values)
    : Tensor(backend, values.dtype(), values.shape()) {
  put(values.view().data());
}

// The whole arena as floats, so that one upload poisons the guards too.
void Tensor::put(const void* bytes) {
  std::vector<std::byte> all(2 * kGuardBytes + rounded_up(size_bytes_), std::byte{0xFF});
  if (bytes != nullptr && size_bytes_ > 0) {
    std::memcpy(&all[kGuardBytes], bytes, size_bytes_);
  }
  const auto floats = static_cast<std::int64_t>(all.size() / sizeof(float));
  backend_.upload(all.data(), {arena_->data(), DType::kF32, Shape{floats}});
  backend_.synchronize();
}

tensor::View Tensor::view() {
  return {arena_->data() + kGuardBytes, dtype_, shape_};
}

bool Tensor::is_guard_intact(std::size_t offset_bytes) {
  constexpr auto kFloats = static_cast<std::int64_t>(kGuardBytes / sizeof(float));
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(kFloats));
  backend_.download({arena_->data() + offset_bytes, DType::kF32, Shape{kFloats}},
                    reinterpret_cast<float*>(bits.data()));
  for (const std::uint32_t word : bits) {
    if (word != 0xFFFFFFFFU) return false;
  }
  return true;
}

Buffer Tensor::read() {
  backend_.synchronize();
  Buffer values(dtype_, shape_);
  const auto count = static_cast<std::size_t>(shape_.element_count());
  if (count > 0) {
    std::vector<float> floats(count);
    backend_.download(view(), floats.data());
    if (dtype_ == DType::kF32) {
      std::memcpy(values.view().data(), floats.data(), count * sizeof(float));
    } else {
      base::convert(floats.data(), values.as<base::Bf16>(), count);
    }
  }
  EXPECT_TRUE(is_guard_intact(0)) << "something wrote before a tensor " << shape_.text();
  EXPECT_TRUE(is_guard_intact(kGuardBytes + rounded_up(size_bytes_)))
      << "something wrote behind a tensor " << shape_.text();
  return values;
}

void EveryWay::SetUp() {
  if (is_cuda() && !why_no_cuda().empty()) {
    if (is_cuda_required()) FAIL() << "ABBA_REQUIRE_CUDA=1, but " << why_no_cuda();
    GTEST_SKIP() << why_no_cuda();
  }
  make({});
}

bool EveryWay::is_thorough() const {
  return is_cuda() && !is_set("ABBA_DEVICE_SHAPES", "reduced");
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

Values EveryWay::as_act(const Buffer& values) const {
  return is_bf16() ? ops::reference::round_bf16(values_of(values)) : values_of(values);
}

}  // namespace abba::device
