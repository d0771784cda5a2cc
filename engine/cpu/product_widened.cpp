// Matrix products in fp32 through oneDNN's sgemm: of fp32 weights as they are, of bf16 weights
// widened panel by panel into a buffer that stays in the second-level cache, so that the weights
// keep their two bytes in memory. The epilogue follows each panel while its accumulators are still
// in cache.
//
// Which library: on one pinned thread of an AVX2 machine with a peak of 83 GFLOP/s (Zen 4 without
// AVX-512, 2.6 GHz), the four products of an English layer, GFLOP/s at 48 / 64 / 176 / 512 rows:
//   the library's own loop, fp32 weights:  oneDNN sgemm   65 / 69 / 74 / 84
//                                          oneDNN matmul  52 / 51 / 52 / 84  (also gemm:jit)
//                                          OpenBLAS       65 / 68 / 80 / 84  (0.3.21)
//                                          BLIS           44 / 44 / 46 / 82  (0.9.0)
//   bf16 weights, widened, panels of 128:  oneDNN sgemm   65 / 70 / 76 / 78
//                                          OpenBLAS       63 / 67 / 76 / 79
//                                          BLIS           50 / 50 / 53 / 54
// Widening alone takes 2 ms of the 18 to 160 ms of a layer. oneDNN is needed for bf16 anyway.
//
// One order of additions for every number of rows: sgemm's AVX2 kernel takes 6 rows at a time and
// rows left over go through kernels that add in another order; above 144 rows it cuts the rows
// into blocks that are no multiple of 6. Its AVX-512 code has a kernel of its own for less than 16
// rows. So the rows are padded to whole tiles and given to it in blocks of at most 144, and a row
// has the same bits whatever is computed with it. Not taken on trust: exactness.h proves it at
// load.
#include <algorithm>
#include <dnnl.hpp>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/cpu/product.h"
#include "engine/cpu/threads.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/convert.h"

namespace abba::cpu {
namespace {

using base::Bf16;

constexpr std::int64_t kPanelColumns = 128;
constexpr std::int64_t kBlockRows = 144;  // a multiple of both tiles

std::int64_t round_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// What the rows are padded to: the rows of a tile of the library's fp32 kernel (its "n", as it is
// column-major inside), or what keeps it from its kernel for few rows.
std::int64_t tile_rows() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto avx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (isa & avx512) == avx512 ? 16 : 6;
}

// c [rows, columns] with `c_stride` = a [rows, depth] * b [columns, depth]^T, rows packed. The
// library may lack memory for its packing buffers; going on would take an unwritten c for a result.
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t depth, const float* a,
              const float* b, float* c, std::int64_t c_stride) {
  const dnnl_status_t status =
      dnnl_sgemm('N', 'T', rows, columns, depth, 1.0F, a, depth, b, depth, 0.0F, c, c_stride);
  ABBA_CHECK(status == dnnl_success);
}

// Scratch of one thread.
struct Scratch {
  tensor::Buffer panel;         // fp32 [kPanelColumns, K]
  tensor::Buffer accumulators;  // fp32 [kBlockRows, kPanelColumns]
};

// The columns of one panel: `count` from `first`; for kGeglu also as many of the other half.
struct Panel {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

struct Plan {
  ops::MatmulProblem problem;
  int weight = 0;
  const float* bias = nullptr;
};

template <typename Act>
class WidenedProduct final : public Product {
 public:
  explicit WidenedProduct(const ProductSettings& settings)
      : settings_(settings), tile_rows_(tile_rows()), scratch_(settings.threads) {
    for (Scratch& s : scratch_) s.accumulators = floats(kBlockRows * kPanelColumns);
  }

  int add_weight(std::string_view name, tensor::ConstView weight) override;
  const tensor::Shape& shape_of(int weight) const override { return weights_[at(weight)].shape(); }
  std::size_t weight_bytes() const override { return weight_bytes_; }
  int plan(const ops::MatmulProblem& problem, int weight, const float* bias) override;
  const ops::MatmulProblem& problem_of(int plan) const override { return plans_[at(plan)].problem; }
  void run(int plan, const void* x, void* y) override;

 private:
  static std::size_t at(int index) {
    ABBA_CHECK(index >= 0);
    return static_cast<std::size_t>(index);
  }
  static tensor::Buffer floats(std::int64_t count) {
    return {tensor::DType::kF32, tensor::Shape{count}};
  }
  const float* widened_rows(const Plan& plan, const Act* x);
  void run_panel(const Plan& plan, const float* x, Act* y, Panel panel, Scratch& scratch) const;
  void finish(const Plan& plan, Act* y, std::int64_t rows, Panel panel, Scratch& scratch) const;
  const float* panel_of(const Plan& plan, std::int64_t first, std::int64_t count, float* to) const;

  ProductSettings settings_;
  std::int64_t tile_rows_;
  std::vector<tensor::Buffer> weights_;
  std::size_t weight_bytes_ = 0;
  std::vector<Plan> plans_;
  tensor::Buffer rows_;  // fp32 [rows padded to tiles, K]
  std::vector<Scratch> scratch_;
};

template <typename Act>
int WidenedProduct<Act>::add_weight(std::string_view name, tensor::ConstView weight) {
  ABBA_CHECK(weight.is_contiguous() && weight.shape().rank() == 2);
  tensor::Buffer copy(tensor::DTypeOf<Act>::value, weight.shape());
  tensor::convert(weight, copy.as<Act>());
  (void)name;
  weight_bytes_ += copy.view().size_bytes();
  weights_.push_back(std::move(copy));
  return static_cast<int>(weights_.size()) - 1;
}

template <typename Act>
int WidenedProduct<Act>::plan(const ops::MatmulProblem& problem, int weight, const float* bias) {
  const std::int64_t needed = round_up(problem.rows, tile_rows_) * problem.depth;
  if (rows_.view().element_count() < needed) rows_ = floats(needed);
  for (Scratch& s : scratch_) {
    if (s.panel.view().element_count() < kPanelColumns * problem.depth) {
      s.panel = floats(kPanelColumns * problem.depth);
    }
  }
  plans_.push_back({problem, weight, bias});
  return static_cast<int>(plans_.size()) - 1;
}

// x in fp32, with rows of zeros up to whole tiles.
template <typename Act>
const float* WidenedProduct<Act>::widened_rows(const Plan& plan, const Act* x) {
  const std::int64_t rows = plan.problem.rows;
  const std::int64_t depth = plan.problem.depth;
  const std::int64_t padded = round_up(rows, tile_rows_);
  float* to = rows_.as<float>();
  if constexpr (std::is_same_v<Act, float>) {
    if (padded == rows) return x;
    std::copy_n(x, rows * depth, to);
  } else {
    parallel(settings_.threads, rows, 64, [&](Range part, int) {
      settings_.kernels->widen(x + part.begin * depth, to + part.begin * depth,
                               (part.end - part.begin) * depth);
    });
  }
  std::fill_n(to + rows * depth, (padded - rows) * depth, 0.0F);
  return to;
}

// Rows [first, first + count) of the weight in fp32: widened into `to`, or where they are.
template <typename Act>
const float* WidenedProduct<Act>::panel_of(const Plan& plan, std::int64_t first, std::int64_t count,
                                           float* to) const {
  const Act* weight = weights_[at(plan.weight)].template as<Act>() + first * plan.problem.depth;
  if constexpr (std::is_same_v<Act, float>) {
    (void)count;
    (void)to;
    return weight;
  } else {
    settings_.kernels->widen(weight, to, count * plan.problem.depth);
    return to;
  }
}

template <typename Act>
void WidenedProduct<Act>::run(int index, const void* x, void* y) {
  const Plan& plan = plans_[at(index)];
  const bool is_geglu = plan.problem.epilogue == ops::Epilogue::kGeglu;
  const std::int64_t step = is_geglu ? kPanelColumns / 2 : kPanelColumns;
  use_threads(1);  // of the library: a panel is one thread's, so bits do not depend on the threads
  const float* rows = widened_rows(plan, static_cast<const Act*>(x));
  const std::int64_t panels = (plan.problem.columns + step - 1) / step;
  parallel(settings_.threads, panels, 1, [&](Range part, int thread) {
    for (std::int64_t p = part.begin; p < part.end; ++p) {
      const Panel panel = {p * step, std::min(step, plan.problem.columns - p * step)};
      run_panel(plan, rows, static_cast<Act*>(y), panel, scratch_[at(thread)]);
    }
  });
}

// All rows times one panel. B is the panel: [activated rows, then gate rows] for kGeglu.
template <typename Act>
void WidenedProduct<Act>::run_panel(const Plan& plan, const float* x, Act* y, Panel panel,
                                    Scratch& scratch) const {
  const ops::MatmulProblem& problem = plan.problem;
  const bool is_geglu = problem.epilogue == ops::Epilogue::kGeglu;
  float* buffer = scratch.panel.as<float>();
  const float* weight = panel_of(plan, panel.first, panel.count, buffer);
  const float* gate = nullptr;
  if (is_geglu) {
    gate = panel_of(plan, problem.columns + panel.first, panel.count,
                    buffer + panel.count * problem.depth);
  }
  const std::int64_t padded = round_up(problem.rows, tile_rows_);
  const std::int64_t blocks = (padded + kBlockRows - 1) / kBlockRows;
  const std::int64_t step = round_up((padded + blocks - 1) / blocks, tile_rows_);
  const std::int64_t stride = is_geglu ? 2 * panel.count : panel.count;
  float* c = scratch.accumulators.as<float>();
  for (std::int64_t r = 0; r < padded; r += step) {
    const std::int64_t rows = std::min(step, padded - r);
    const bool is_one_product = gate == nullptr || gate == weight + panel.count * problem.depth;
    const float* a = x + r * problem.depth;
    multiply(rows, is_one_product ? stride : panel.count, problem.depth, a, weight, c, stride);
    if (!is_one_product) {
      multiply(rows, panel.count, problem.depth, a, gate, c + panel.count, stride);
    }
    finish(plan, y + r * problem.columns, std::min(rows, problem.rows - r), panel, scratch);
  }
}

// From the accumulators of `rows` rows to the panel's columns of y.
template <typename Act>
void WidenedProduct<Act>::finish(const Plan& plan, Act* y, std::int64_t rows, Panel panel,
                                 Scratch& scratch) const {
  const ActKernels<Act>& kernels = act_kernels<Act>(*settings_.kernels);
  const float* c = scratch.accumulators.as<float>();
  if (plan.problem.epilogue == ops::Epilogue::kGeglu) {
    kernels.geglu({c, c + panel.count, 2 * panel.count, y + panel.first, plan.problem.columns, rows,
                   panel.count});
    return;
  }
  const float* bias = plan.bias == nullptr ? nullptr : plan.bias + panel.first;
  kernels.epilogue({c, panel.count, bias, y + panel.first, plan.problem.columns, rows, panel.count,
                    plan.problem.epilogue});
}

}  // namespace

std::unique_ptr<Product> make_widened_product(const ProductSettings& settings) {
  if (settings.precision == ops::Precision::kFp32) {
    return std::make_unique<WidenedProduct<float>>(settings);
  }
  return std::make_unique<WidenedProduct<Bf16>>(settings);
}

}  // namespace abba::cpu
