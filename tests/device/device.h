// What the device tests run on: a backend by kind and precision, tensors in its memory with guards
// around them, and seeded inputs. The same tests run on the host's backend, which rehearses them
// where there is no GPU. Without a GPU the CUDA ways skip and say why; with ABBA_REQUIRE_CUDA=1
// they fail instead. Host buffers, limits and the adversarial inputs are those of tests/unit/cpu.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/ops/backend.h"
#include "engine/ops/reference/reference_ops.h"
#include "engine/tensor/buffer.h"
#include "tests/unit/cpu/test_data.h"

namespace abba::device {

using cpu::copy_of;
using cpu::differing_bits;
using cpu::integers;
using cpu::make_adversarial;
using cpu::values_of;
using cpu::worst_error;
using ops::Precision;
using ops::reference::Values;
using tensor::Buffer;
using tensor::DType;
using tensor::Shape;

enum class Kind { kCpu, kCuda };

struct Way {
  Kind kind;
  Precision precision;
};
std::vector<Way> ways();  // {cpu, cuda} x {fp32, bf16}
std::vector<Way> cuda_ways();
std::string name_of(const Way& way);
std::string way_name(const testing::TestParamInfo<Way>& info);

// Why no test can run on a GPU here, as one sentence; empty if one answers.
const std::string& why_no_cuda();
bool is_cuda_required();  // ABBA_REQUIRE_CUDA=1

// Throws base::Error as the kind's own make_backend. `threads` is the host's alone.
std::unique_ptr<ops::Backend> make_backend(const Way& way, const ops::Choices& choices = {},
                                           int threads = 1);

// The host's library product makes no promise about rows of one launch; our own and a GPU's do.
bool promises_one_row_order(const ops::Backend& backend);

// A tensor in a backend's memory, 256 poisoned bytes before and after it. read() fails the test if
// an operation wrote there. The backend must outlive it.
class Tensor {
 public:
  Tensor(ops::Backend& backend, DType dtype, const Shape& shape);  // every byte 0xFF: NaN
  Tensor(ops::Backend& backend, const Buffer& values);
  [[nodiscard]] tensor::View view();
  // Waits; the values on the host in their own type (not kI32).
  [[nodiscard]] Buffer read();

 private:
  void put(const void* bytes);
  [[nodiscard]] bool is_guard_intact(std::size_t offset_bytes);

  ops::Backend& backend_;
  DType dtype_;
  Shape shape_;
  std::size_t size_bytes_;
  std::unique_ptr<ops::Arena> arena_;
};

class EveryWay : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override;  // makes backend_, or skips or fails
  void make(const ops::Choices& choices) { backend_ = make_backend(GetParam(), choices); }

  [[nodiscard]] bool is_bf16() const { return GetParam().precision == Precision::kBf16; }
  [[nodiscard]] bool is_cuda() const { return GetParam().kind == Kind::kCuda; }
  [[nodiscard]] DType act() const { return is_bf16() ? DType::kBf16 : DType::kF32; }
  // The whole sweeps: on a GPU, unless ABBA_DEVICE_SHAPES=reduced (for compute-sanitizer). The
  // host's own tests sweep the host.
  [[nodiscard]] bool is_thorough() const;

  // Random values of `dtype` (act or fp32) times `scale`, exactly representable in it.
  Buffer random(DType dtype, const Shape& shape, float scale = 1.0F);
  [[nodiscard]] Tensor on_device(const Buffer& values) { return {*backend_, values}; }
  [[nodiscard]] Tensor output(DType dtype, const Shape& shape) { return {*backend_, dtype, shape}; }
  ops::WeightId matrix(const Buffer& values) {
    return backend_->prepare_matrix("matrix", values.view());
  }
  ops::WeightId vector(const Buffer& values, ops::VectorRole role) {
    return backend_->prepare_vector("vector", values.view(), role);
  }
  // `values` as the backend uses them: rounded to bf16 where act is.
  [[nodiscard]] Values as_act(const Buffer& values) const;

  std::unique_ptr<ops::Backend> backend_;
  base::Random random_{2026};
};

}  // namespace abba::device
