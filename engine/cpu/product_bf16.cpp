// bf16 x bf16 -> fp32 through oneDNN's matmul, for machines with AVX512_BF16 (there the library
// picks a kernel of its own; with AMX, that one). Weights are packed once: the layout is asked for
// with a typical number of rows and is the same for 1..16384 of them, so every plan names it
// instead of letting the library choose again. Epilogues run on the fp32 accumulators of the whole
// product. On one thread, the four products of an English layer: 410..418 GFLOP/s with AVX512_BF16
// (the library alone, measured apart); through this file on a Xeon with AMX 424 / 492 / 569 / 665
// at 48 / 64 / 176 / 512 rows, 0.91..0.99 of the library's own loop there. Whether a row gets the
// same bits for every number of rows is the library's affair: it did at the shapes of the network
// on both, and does not at every shape with AMX; exactness.h proves it at load.

#include <algorithm>
#include <dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/error.h"
#include "engine/cpu/product.h"
#include "engine/cpu/threads.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/convert.h"

namespace abba::cpu {
namespace {

using base::Bf16;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

constexpr std::int64_t kTypicalRows = 64;

struct Weight {
  tensor::Shape shape;  // [N, K]
  dnnl::memory packed;
  tensor::Buffer storage;
};

struct Plan {
  ops::MatmulProblem problem;
  int weight = 0;
  const float* bias = nullptr;
  std::int64_t products = 0;  // columns of the product: N, or 2N for kGeglu
  dnnl::matmul primitive;
  dnnl::memory x, accumulators, scratchpad;         // handles shared with `arguments`
  std::unordered_map<int, dnnl::memory> arguments;  // made once: execute() takes a map
};

class Bf16Product final : public Product {
 public:
  explicit Bf16Product(const ProductSettings& settings)
      : settings_(settings), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    use_threads(settings.threads);
  }

  int add_weight(std::string_view name, tensor::ConstView weight) override;
  const tensor::Shape& shape_of(int weight) const override { return weights_[at(weight)].shape; }
  std::size_t weight_bytes() const override { return weight_bytes_; }
  int plan(const ops::MatmulProblem& problem, int weight, const float* bias) override;
  const ops::MatmulProblem& problem_of(int plan) const override { return plans_[at(plan)].problem; }
  void run(int plan, const void* x, void* y) override;

 private:
  static std::size_t at(int index) {
    ABBA_CHECK(index >= 0);
    return static_cast<std::size_t>(index);
  }
  dnnl::matmul::primitive_desc describe(std::int64_t rows, const dnnl::memory::desc& weight) const;
  void grow_scratch(std::size_t accumulator_bytes, std::size_t scratchpad_bytes);
  void finish(const Plan& plan, Bf16* y, Range rows) const;

  ProductSettings settings_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Weight> weights_;
  std::size_t weight_bytes_ = 0;
  std::vector<Plan> plans_;
  tensor::Buffer accumulators_;
  tensor::Buffer scratchpad_;
};

[[noreturn]] void refuse(std::string_view name, const dnnl::error& error) {
  throw base::Error(base::ErrorCode::kPreflight, std::string(name),
                    std::string("oneDNN refuses this bf16 matrix product (") + error.what() +
                        "); ask for the widened product");
}

// Weight [N, K] seen as [K, N], in `layout`.
dnnl::memory::desc transposed(const tensor::Shape& shape, Tag layout) {
  return {{shape[1], shape[0]}, Type::bf16, layout};
}

dnnl::matmul::primitive_desc Bf16Product::describe(std::int64_t rows,
                                                   const dnnl::memory::desc& weight) const {
  const std::int64_t depth = weight.dims()[0];
  const std::int64_t columns = weight.dims()[1];
  const dnnl::memory::desc x({rows, depth}, Type::bf16, Tag::ab);
  const dnnl::memory::desc y({rows, columns}, Type::f32, Tag::ab);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {dnnl::matmul::desc(x, weight, y), attributes, engine_};
}

int Bf16Product::add_weight(std::string_view name, tensor::ConstView weight) {
  ABBA_CHECK(weight.is_contiguous() && weight.shape().rank() == 2);
  try {
    use_threads(settings_.threads);
    tensor::Buffer plain(tensor::DType::kBf16, weight.shape());
    tensor::convert(weight, plain.as<Bf16>());
    const auto any = transposed(weight.shape(), Tag::any);
    const dnnl::memory::desc layout = describe(kTypicalRows, any).weights_desc();
    const auto bytes = static_cast<std::int64_t>(layout.get_size());
    Weight made{weight.shape(), {}, {tensor::DType::kU8, tensor::Shape{bytes}}};
    made.packed = dnnl::memory(layout, engine_, made.storage.view().data());
    dnnl::memory source(transposed(weight.shape(), Tag::ba), engine_, plain.view().data());
    dnnl::reorder(source, made.packed).execute(stream_, source, made.packed);
    stream_.wait();
    weight_bytes_ += layout.get_size();
    weights_.push_back(std::move(made));
  } catch (const dnnl::error& error) {
    refuse(name, error);
  }
  return static_cast<int>(weights_.size()) - 1;
}

void Bf16Product::grow_scratch(std::size_t accumulator_bytes, std::size_t scratchpad_bytes) {
  const auto grow = [](tensor::Buffer& buffer, std::size_t bytes) {
    if (buffer.view().size_bytes() >= bytes) return;
    buffer = tensor::Buffer(tensor::DType::kU8, tensor::Shape{static_cast<std::int64_t>(bytes)});
  };
  grow(accumulators_, accumulator_bytes);
  grow(scratchpad_, scratchpad_bytes);
}

int Bf16Product::plan(const ops::MatmulProblem& problem, int weight, const float* bias) {
  try {
    use_threads(settings_.threads);
    const Weight& w = weights_[at(weight)];
    const auto described = describe(problem.rows, w.packed.get_desc());
    Plan made;
    made.problem = problem;
    made.weight = weight;
    made.bias = bias;
    made.products = w.shape[0];
    made.primitive = dnnl::matmul(described);
    made.x = dnnl::memory(described.src_desc(), engine_, nullptr);
    made.accumulators = dnnl::memory(described.dst_desc(), engine_, nullptr);
    made.scratchpad = dnnl::memory(described.scratchpad_desc(), engine_, nullptr);
    grow_scratch(described.dst_desc().get_size(), described.scratchpad_desc().get_size());
    made.arguments = {{DNNL_ARG_SRC, made.x},
                      {DNNL_ARG_WEIGHTS, w.packed},
                      {DNNL_ARG_DST, made.accumulators},
                      {DNNL_ARG_SCRATCHPAD, made.scratchpad}};
    plans_.push_back(std::move(made));
  } catch (const dnnl::error& error) {
    refuse("matmul", error);
  }
  return static_cast<int>(plans_.size()) - 1;
}

void Bf16Product::run(int index, const void* x, void* y) {
  Plan& plan = plans_[at(index)];
  use_threads(settings_.threads);
  plan.x.set_data_handle(const_cast<void*>(x));  // the library reads it; its type has no const
  plan.accumulators.set_data_handle(accumulators_.view().data());
  plan.scratchpad.set_data_handle(scratchpad_.view().data());
  plan.primitive.execute(stream_, plan.arguments);
  stream_.wait();
  parallel(settings_.threads, plan.problem.rows, 16,
           [&](Range rows, int) { finish(plan, static_cast<Bf16*>(y), rows); });
}

void Bf16Product::finish(const Plan& plan, Bf16* y, Range rows) const {
  const ActKernels<Bf16>& kernels = settings_.kernels->bf16;
  const auto* all = static_cast<const float*>(accumulators_.view().data());
  const float* c = all + rows.begin * plan.products;
  const std::int64_t columns = plan.problem.columns;
  const std::int64_t count = rows.end - rows.begin;
  Bf16* to = y + rows.begin * columns;
  if (plan.problem.epilogue == ops::Epilogue::kGeglu) {
    kernels.geglu({c, c + columns, plan.products, to, columns, count, columns});
    return;
  }
  kernels.epilogue(
      {c, plan.products, plan.bias, to, columns, count, columns, plan.problem.epilogue});
}

}  // namespace

std::unique_ptr<Product> make_bf16_product(const ProductSettings& settings) {
  return std::make_unique<Bf16Product>(settings);
}

}  // namespace abba::cpu
