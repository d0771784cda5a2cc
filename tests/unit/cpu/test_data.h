// What the tests of the CPU backend share: seeded inputs (never zeros), outputs filled with NaN,
// and two ways of judging a result: against the double reference with a declared limit, and bit by
// bit.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/prng.h"
#include "engine/cpu/backend.h"
#include "engine/ops/reference/reference_ops.h"
#include "engine/tensor/buffer.h"

namespace abba::cpu {

using ops::Precision;
using ops::reference::Values;
using tensor::Buffer;
using tensor::DType;
using tensor::Shape;

// One way the backend can run on this machine. The widest set the machine has is among them.
struct Way {
  Precision precision;
  Isa isa;
  ProductPath product;
  int threads;
};
std::vector<Way> ways();
// Those whose product gives a row the same bits for every number of rows; the library's own bf16
// product makes no such promise, and prove_exactness finds what holds there.
std::vector<Way> ways_with_one_row_order();
std::string way_name(const testing::TestParamInfo<Way>& info);
std::unique_ptr<ops::Backend> backend_of(const Way& way);

class EveryWay : public testing::TestWithParam<Way> {
 protected:
  EveryWay() : backend_(backend_of(GetParam())) {}
  [[nodiscard]] bool is_bf16() const { return GetParam().precision == Precision::kBf16; }
  [[nodiscard]] DType act() const { return is_bf16() ? DType::kBf16 : DType::kF32; }
  // Random values of `dtype` (act or fp32) times `scale`, exactly representable in it.
  Buffer random(DType dtype, const Shape& shape, float scale = 1.0F);
  Buffer output(DType dtype, const Shape& shape) const;  // poisoned: NaN everywhere
  ops::WeightId matrix(const Buffer& values) {
    return backend_->prepare_matrix("matrix", values.view());
  }
  ops::WeightId vector(const Buffer& values, ops::VectorRole role) {
    return backend_->prepare_vector("vector", values.view(), role);
  }
  // `values` as the backend uses them: rounded to bf16 where act is.
  Values as_act(const Buffer& values) const;

  std::unique_ptr<ops::Backend> backend_;
  base::Random random_{2026};
};

Buffer integers(const std::vector<std::int32_t>& values);
Values values_of(const Buffer& buffer);
Buffer copy_of(const Buffer& buffer);
// Makes inputs nasty: one channel of 3e4 in every row, subnormals in the next, a row of one value.
void make_adversarial(Buffer& buffer);

// The worst |computed - expected| / (absolute + relative * |expected|): at most 1 passes; a NaN or
// a different size gives infinity.
double worst_error(const Values& computed, const Values& expected, double relative,
                   double absolute);
// Elements of act or fp32 whose bits differ.
std::int64_t differing_bits(const Buffer& a, const Buffer& b);

}  // namespace abba::cpu
