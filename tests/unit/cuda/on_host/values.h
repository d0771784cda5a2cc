// Inputs and outputs of the kernels on the host: values of act in memory as a kernel reads them.
// Inputs are random, never zeros; outputs begin as NaNs.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/half.h"
#include "engine/base/prng.h"
#include "engine/ops/problem.h"
#include "engine/ops/reference/reference_ops.h"

namespace abba::cuda::on_host {

using ops::Precision;
using ops::reference::Values;

// `count` values of act, 16-byte aligned plus `shift` elements.
class ActValues {
 public:
  ActValues(Precision precision, std::int64_t count, std::int64_t shift = 0);
  static ActValues random(Precision precision, std::int64_t count, base::Random& random,
                          float scale = 1.0F, std::int64_t shift = 0);
  [[nodiscard]] void* data() { return memory_.data() + first_byte_; }
  void set(std::int64_t i, float value);
  [[nodiscard]] float at(std::int64_t i) const;
  [[nodiscard]] Values values() const;
  friend bool operator==(const ActValues& a, const ActValues& b) { return a.bits() == b.bits(); }

 private:
  [[nodiscard]] std::vector<std::uint8_t> bits() const;
  Precision precision_;
  std::int64_t count_;
  std::size_t first_byte_;
  std::vector<std::uint8_t> memory_;
};

std::vector<float> random_floats(std::int64_t count, base::Random& random, float scale = 1.0F);
Values values_of(const std::vector<float>& floats);
// What `value` becomes as act.
float rounded(Precision precision, float value);
// The worst |computed - expected| / (absolute + relative * |expected|); infinite for a NaN.
double worst_error(const Values& computed, const Values& expected, double relative,
                   double absolute);

}  // namespace abba::cuda::on_host
