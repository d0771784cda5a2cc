// Making a backend, planning shapes, moving data in and out.
#include "engine/cpu/backend.h"

#include <cstring>
#include <new>
#include <string>

#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/threads.h"
#include "engine/tensor/convert.h"

namespace abba::cpu {
namespace {

constexpr int kMostThreads = 256;

class HostArena final : public ops::Arena {
 public:
  static constexpr std::align_val_t kAlignment{256};
  explicit HostArena(std::size_t size_bytes)
      : data_(static_cast<std::byte*>(::operator new(size_bytes, kAlignment))),
        size_bytes_(size_bytes) {}
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;
  ~HostArena() override { ::operator delete(data_, kAlignment); }
  std::byte* data() override { return data_; }
  std::size_t size_bytes() const override { return size_bytes_; }

 private:
  std::byte* data_;
  std::size_t size_bytes_;
};

const KernelTable& kernels_for(Isa isa) {
  return isa == Isa::kAvx512 ? kernels_avx512() : kernels_avx2();
}

std::unique_ptr<Product> make_product(const Settings& settings, const KernelTable& kernels) {
  const ProductSettings wanted{&kernels, settings.precision, settings.threads};
  const bool is_bf16 = settings.precision == ops::Precision::kBf16;
  if (is_bf16 && settings.product == ProductPath::kAvx512Bf16) return make_bf16_product(wanted);
  return make_widened_product(wanted);
}

Settings resolved(Settings settings) {
  if (settings.threads < 1 || settings.threads > kMostThreads) {
    throw base::Error(base::ErrorCode::kBadInput, "threads",
                      "the engine computes on 1 to " + std::to_string(kMostThreads) +
                          " threads, not " + std::to_string(settings.threads));
  }
  settings.isa = resolve(settings.isa);
  settings.product = resolve(settings.product);
  return settings;
}

}  // namespace

CpuBackend::CpuBackend(const Settings& settings)
    : settings_(resolved(settings)),
      description_(describe(settings_.isa, settings_.product)),
      kernels_(kernels_for(settings_.isa)),
      product_(make_product(settings_, kernels_)),
      attention_scratch_(static_cast<std::size_t>(settings_.threads)) {
  if (settings_.precision == ops::Precision::kFp32) description_.product = "fp32";
}

std::unique_ptr<ops::Backend> make_backend(const Settings& settings) {
  return std::make_unique<CpuBackend>(settings);
}

std::string CpuBackend::product_path() const {
  if (description_.product == "avx512_bf16") return description_.library + " avx512_bf16";
  return description_.library + ": " + description_.product;
}

std::size_t CpuBackend::weight_bytes() const {
  return weight_bytes_ + product_->weight_bytes();
}

tensor::DType CpuBackend::act() const {
  return settings_.precision == ops::Precision::kBf16 ? tensor::DType::kBf16 : tensor::DType::kF32;
}

const CpuBackend::Weight& CpuBackend::weight(ops::WeightId id, WeightKind kind) const {
  ABBA_CHECK(id.is_valid() && static_cast<std::size_t>(id.index) < weights_.size());
  const Weight& found = weights_[static_cast<std::size_t>(id.index)];
  ABBA_CHECK(found.kind == kind);
  return found;
}

const float* CpuBackend::vector(ops::WeightId id, std::int64_t count) const {
  if (!id.is_valid()) return nullptr;
  const Weight& found = weight(id, WeightKind::kVector);
  ABBA_CHECK(found.values.view().element_count() == count);
  return found.values.as<float>();
}

ops::MatmulId CpuBackend::plan_matmul(const ops::MatmulProblem& problem, ops::WeightId weight_id,
                                      ops::WeightId bias) {
  const int matrix = weight(weight_id, WeightKind::kMatrix).matrix;
  const bool is_geglu = problem.epilogue == ops::Epilogue::kGeglu;
  const tensor::Shape expected{is_geglu ? 2 * problem.columns : problem.columns, problem.depth};
  ABBA_CHECK(product_->shape_of(matrix) == expected && problem.rows > 0);
  ABBA_CHECK(problem.has_bias == bias.is_valid() && !(is_geglu && problem.has_bias));
  const std::tuple key{problem.rows, weight_id.index, bias.index, problem.epilogue};
  const auto found = planned_.find(key);
  if (found != planned_.end()) return found->second;
  const ops::MatmulId made{product_->plan(problem, matrix, vector(bias, problem.columns))};
  return planned_.emplace(key, made).first->second;
}

void CpuBackend::reserve_attention(std::int64_t keys) {
  if (keys <= most_keys_) return;
  most_keys_ = keys;
  for (tensor::Buffer& scratch : attention_scratch_) {
    scratch = tensor::Buffer(tensor::DType::kF32, tensor::Shape{attention_scratch_floats(keys)});
  }
}

void CpuBackend::plan_attention(const ops::AttentionProblem& problem) {
  reserve_attention(problem.length);
}

void CpuBackend::plan_attention(const ops::SubsetAttentionProblem& problem) {
  reserve_attention(problem.keys);
}

std::unique_ptr<ops::Arena> CpuBackend::make_arena(std::size_t size_bytes) {
  return std::make_unique<HostArena>(size_bytes);
}

void CpuBackend::upload(const void* bytes, tensor::View to) {
  ABBA_CHECK(to.is_contiguous());
  std::memcpy(to.data(), bytes, to.size_bytes());
}

void CpuBackend::download(tensor::ConstView from, float* values) {
  tensor::convert(from, values);
}

}  // namespace abba::cpu
