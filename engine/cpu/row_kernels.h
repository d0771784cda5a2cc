// Kernels that work row by row: layer norm, the epilogues of a matrix product, biases, sums. A row
// is taken one vector at a time and its tail through a zero-filled vector, always in the same
// order, so that a row has the same bits wherever it lies.
#pragma once

#include "engine/cpu/kernels.h"
#include "engine/cpu/rope_kernels.h"
#include "engine/cpu/vector_math.h"

namespace abba::cpu::ABBA_CPU_ISA {

// Calls f(column, load, store) for each vector of [0, columns), whole ones first, then the tail.
template <typename F>
inline void for_each_vector(std::int64_t columns, F&& f) {
  std::int64_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) f(c, kLanes);
  if (c < columns) f(c, columns - c);
}
template <typename T>
inline Vec load_some(const T* p, std::int64_t count) {
  return count == kLanes ? load(p) : load_part(p, count);
}
template <typename T>
inline void store_some(T* p, Vec v, std::int64_t count) {
  if (count == kLanes) return store(p, v);
  store_part(p, v, count);
}

// Sum of f(load(x + c)) over the row; `f` is called with zeros in the lanes beyond the row and with
// the number of lanes in it.
template <typename F>
inline float sum_row(const float* x, std::int64_t columns, F&& f) {
  Vec even = broadcast(0.0F);
  Vec odd = broadcast(0.0F);
  std::int64_t c = 0;
  for (; c + 2 * kLanes <= columns; c += 2 * kLanes) {
    even = add(even, f(load(x + c)));
    odd = add(odd, f(load(x + c + kLanes)));
  }
  float sum = sum_lanes(add(even, odd));
  if (c + kLanes <= columns) {
    sum += sum_lanes(f(load(x + c)));
    c += kLanes;
  }
  if (c < columns) {
    float tail[kLanes];
    store(tail, f(load_part(x + c, columns - c)));
    for (std::int64_t i = 0; i < columns - c; ++i) sum += tail[i];
  }
  return sum;
}

// Mean and variance in fp32, the variance from the differences to the mean (two passes over a row
// that is in the first-level cache): E[x^2] - mean^2 would lose everything to one channel of 3e4.
template <typename Act>
void norm_row(const NormArgs<Act>& args, std::int64_t row) {
  const std::int64_t n = args.hidden;
  float* x = args.x + row * n;
  if (args.branch != nullptr) {
    const Act* branch = args.branch + row * n;
    for_each_vector(n, [&](std::int64_t c, std::int64_t count) {
      store_some(x + c, add(load_some(x + c, count), load_some(branch + c, count)), count);
    });
  }
  const float mean = sum_row(x, n, [](Vec v) { return v; }) / static_cast<float>(n);
  const Vec center = broadcast(mean);
  const float squares = sum_row(x, n, [&](Vec v) {
    const Vec difference = sub(v, center);
    return mul(difference, difference);
  });
  const Vec scale =
      broadcast(1.0F / __builtin_sqrtf(squares / static_cast<float>(n) + args.epsilon));
  Act* y = args.y + row * n;
  for_each_vector(n, [&](std::int64_t c, std::int64_t count) {
    Vec v = mul(load_some(args.gain + c, count), mul(sub(load_some(x + c, count), center), scale));
    if (args.bias != nullptr) v = add(v, load_some(args.bias + c, count));
    store_some(y + c, v, count);
    if (args.y_fp32 != nullptr) store_some(args.y_fp32 + row * n + c, v, count);
  });
}

template <typename Act>
void norm(const NormArgs<Act>& args, Range rows) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) norm_row(args, row);
}

template <typename Act>
inline Vec finish(ops::Epilogue epilogue, Vec v) {
  if (epilogue == ops::Epilogue::kRelu) return max(broadcast(0.0F), v);
  if (epilogue == ops::Epilogue::kGelu) {
    return gelu(round_as(static_cast<const Act*>(nullptr), v));
  }
  return v;
}

template <typename Act>
void epilogue(const EpilogueArgs<Act>& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* from = args.accumulator + r * args.accumulator_stride;
    Act* y = args.y + r * args.y_stride;
    for_each_vector(args.columns, [&](std::int64_t c, std::int64_t count) {
      Vec v = load_some(from + c, count);
      if (args.bias != nullptr) v = add(v, load_some(args.bias + c, count));
      store_some(y + c, finish<Act>(args.epilogue, v), count);
    });
  }
}

template <typename Act>
void geglu(const GegluArgs<Act>& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* activated = args.activated + r * args.u_stride;
    const float* gate = args.gate + r * args.u_stride;
    Act* y = args.y + r * args.y_stride;
    for_each_vector(args.columns, [&](std::int64_t c, std::int64_t count) {
      const Vec v = mul(gelu(load_some(activated + c, count)), load_some(gate + c, count));
      store_some(y + c, v, count);
    });
  }
}

template <typename Act>
void add_branch(const Act* branch, float* x, Range elements) {
  for_each_vector(elements.end - elements.begin, [&](std::int64_t c, std::int64_t count) {
    float* to = x + elements.begin + c;
    const Vec b = load_some(branch + elements.begin + c, count);
    store_some(to, add(load_some(to, count), b), count);
  });
}

template <typename Act>
void add_type(const Act* h, const Act* type, float* x, std::int64_t rows, std::int64_t hidden) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for_each_vector(hidden, [&](std::int64_t c, std::int64_t count) {
      const Vec sum = add(load_some(h + r * hidden + c, count), load_some(type + c, count));
      store_some(x + r * hidden + c, sum, count);
    });
  }
}

// A matrix walked as one long strip: the column of every element is found by a 64-bit division.
template <typename Act>
void add_bias_by_division(const BiasArgs<Act>& args, Range elements) {
  const auto end = static_cast<std::uint64_t>(elements.end);
  for (auto flat = static_cast<std::uint64_t>(elements.begin); flat < end; ++flat) {
    const std::uint64_t column = flat % opaque(static_cast<std::uint64_t>(args.columns));
    const float sum = load_one(args.y + flat) + args.bias[column];
    store_one(args.y + flat, args.relu && sum < 0.0F ? 0.0F : sum);
  }
}

template <typename Act>
void add_bias_by_row(const BiasArgs<Act>& args, Range rows) {
  const auto columns = static_cast<std::uint32_t>(args.columns);
  for (auto r = static_cast<std::uint32_t>(rows.begin); r < rows.end; ++r) {
    Act* y = args.y + r * columns;
    for_each_vector(columns, [&](std::int64_t c, std::int64_t count) {
      Vec v = add(load_some(y + c, count), load_some(args.bias + c, count));
      if (args.relu) v = max(broadcast(0.0F), v);
      store_some(y + c, v, count);
    });
  }
}

template <typename Act>
void add_bias(ops::BiasVariant variant, const BiasArgs<Act>& args, Range part) {
  if (variant == ops::BiasVariant::kStridedDiv64) return add_bias_by_division(args, part);
  add_bias_by_row(args, part);
}

}  // namespace abba::cpu::ABBA_CPU_ISA
