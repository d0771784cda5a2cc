// The hinge of the engine: what engine/model calls and what a device implements (engine/cpu,
// engine/cuda). Three phases, in this order:
//   weights   prepare_* copies, converts and packs each weight once into memory the backend owns;
//   shapes    plan_* and make_arena resolve kernels, primitives and scratch for one shape;
//   requests  the operations: nothing is allocated, resolved or looked up by name.
// Weights and shapes may throw base::Error; a request-time operation does not, its preconditions
// are ABBA_CHECKs. A device runs operations in the order of the calls and may return before they
// are done; synchronize() waits. One thread at a time uses a backend.
//
// Views: activations lie in an Arena, at addresses the model planned; data() of a device backend's
// view is a device address. Views are flattened to two axes [rows, columns] and contiguous; the
// sizes are those of the problem struct, whose comment in problem.h gives the meaning. "act" is
// bf16 under Precision::kBf16, fp32 under kFp32. Inputs and outputs never overlap except where "in
// place" is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/ops/problem.h"
#include "engine/ops/variant.h"
#include "engine/tensor/view.h"

namespace abba::ops {

// Names of things a backend owns; valid as long as the backend. A default one names nothing (no
// bias).
struct WeightId {
  std::int32_t index = -1;
  [[nodiscard]] bool is_valid() const { return index >= 0; }
};
struct MatmulId {
  std::int32_t index = -1;
};

// Memory of a backend in which a model lays out its activations; 256-byte aligned, not initialised.
class Arena {
 public:
  virtual ~Arena() = default;
  [[nodiscard]] virtual std::byte* data() = 0;
  [[nodiscard]] virtual std::size_t size_bytes() const = 0;
};

// One copy of a group: `to` is filled from host memory.
struct Transfer {
  const void* bytes = nullptr;
  tensor::View to;
};

// What a vector is for decides how it is rounded when it is prepared.
enum class VectorRole {
  kNorm,  // gain or bias of a layer norm: kept in fp32
  kBias,  // bias of a linear layer: rounded to act
};

class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;  // "cpu"
  [[nodiscard]] virtual Precision precision() const = 0;
  [[nodiscard]] virtual const Choices& choices() const = 0;
  // What multiplies matrices, for `hello` and exactness declarations: "oneDNN 2.6.3 avx512_bf16",
  // or
  // "...: widened" where bf16 values are multiplied in fp32.
  [[nodiscard]] virtual std::string product_path() const = 0;
  [[nodiscard]] virtual std::size_t weight_bytes() const = 0;  // owned for weights so far
  // Kernels started on a device so far, the library's included; 0 where nothing is launched.
  [[nodiscard]] virtual std::int64_t launch_count() const { return 0; }
  // What of choices() can really run at `extent`: the tables' guards, and what the backend finds it
  // cannot load. `note` as for ops::effective_choices. Part of planning a shape: may load kernels.
  virtual Choices runnable_choices(const Extent& extent, std::string* note) {
    return effective_choices(choices(), extent, note);
  }

  // ---- names for a profiler: a stretch of calls, nested; nothing where there is no tool.
  virtual void begin_range(const char* /*name*/) {}
  virtual void end_range() {}

  // ---- weights. `weight` is host memory, F32, F16 or BF16, contiguous. `name` is for messages.
  // Copied (rounded to act, packed), so the source may go away afterwards.
  virtual WeightId prepare_matrix(std::string_view name, tensor::ConstView weight) = 0;  // [N, K]
  virtual WeightId prepare_vector(std::string_view name, tensor::ConstView weight,
                                  VectorRole role) = 0;  // [N]
  // A table of rows read one at a time, values as stored. A host backend may read it in place: the
  // memory must outlive the backend.
  virtual WeightId prepare_table(std::string_view name, tensor::ConstView weight) = 0;  // [V, D]
  // The type embedding [3, D], rounded to act.
  virtual WeightId prepare_type_table(std::string_view name, tensor::ConstView weight) = 0;
  // cos and sin of the float32 product position * f(d), position in 0..positions-1, d in 0..31,
  // where f(d) = 1.0F / float32(theta^(2d/64)); cos and sin rounded to float32, then to act (held
  // as fp32).
  virtual WeightId prepare_rope(float theta, std::int64_t positions) = 0;

  // ---- shapes. `weight` from prepare_matrix ([2N, K] for kGeglu), `bias` from
  // prepare_vector(kBias) iff problem.has_bias. Equal calls may return the same id.
  virtual MatmulId plan_matmul(const MatmulProblem& problem, WeightId weight, WeightId bias) = 0;
  // Make sure scratch for these sizes exists; must precede the first call with such sizes.
  virtual void plan_attention(const AttentionProblem& problem) = 0;
  virtual void plan_attention(const SubsetAttentionProblem& problem) = 0;
  virtual std::unique_ptr<Arena> make_arena(std::size_t size_bytes) = 0;
  // Make sure a group of transfers that reaches over `size_bytes` of one arena can be staged.
  virtual void plan_upload(std::size_t /*size_bytes*/) {}

  // ---- transfer. Sizes must match exactly; `values`/`bytes` are host memory. upload() may return
  // before the copy is done only if the source was copied aside. download() waits and widens act to
  // float.
  virtual void upload(const void* bytes, tensor::View to) = 0;
  // A group in ascending order of address, all in one arena, with nothing that matters between one
  // and the next: a device may copy it whole, gaps included. The sources may go away afterwards.
  virtual void upload_all(std::span<const Transfer> transfers) {
    for (const Transfer& transfer : transfers) upload(transfer.bytes, transfer.to);
  }
  virtual void download(tensor::ConstView from, float* values) = 0;
  virtual void synchronize() = 0;
  // A known slow-down for calibrations: a device stays busy for `ns` more after the work queued
  // before the next synchronize(), which waits for it. false where nothing is queued, as on a CPU.
  virtual bool spin_before_wait(std::int64_t /*ns*/) { return false; }

  // ---- operations; see the problem structs for formulas, shapes and types. Views are contiguous;
  // the rows of add_bias's y may lie apart: the same bits, and what lies between stays.
  virtual void embed_norm(const EmbedNormProblem& problem, WeightId table, WeightId gain,
                          tensor::ConstView ids, tensor::View residual, tensor::View normed) = 0;
  virtual void layer_norm(const NormProblem& problem, WeightId gain, WeightId bias,
                          tensor::ConstView x, tensor::View y) = 0;
  virtual void add_norm(const NormProblem& problem, WeightId gain, WeightId bias,
                        tensor::ConstView branch, tensor::View residual, tensor::View y) = 0;
  virtual void add(const AddProblem& problem, tensor::ConstView branch, tensor::View residual) = 0;
  virtual void rope(const RopeProblem& problem, WeightId table, tensor::View qkv) = 0;
  virtual void attention(const AttentionProblem& problem, tensor::ConstView qkv,
                         tensor::ConstView lengths, tensor::View out) = 0;
  virtual void attention(const SubsetAttentionProblem& problem, tensor::ConstView q,
                         tensor::ConstView kv, tensor::ConstView lengths, tensor::View out) = 0;
  virtual void transpose_heads(const TransposeHeadsProblem& problem, tensor::ConstView by_head,
                               tensor::View by_row) = 0;
  virtual void matmul(MatmulId id, tensor::ConstView x, tensor::View y) = 0;
  virtual void add_bias(const BiasProblem& problem, WeightId bias, tensor::View y) = 0;
  virtual void geglu(const GegluProblem& problem, tensor::ConstView u, tensor::View g) = 0;
  virtual void type_embedding(const TypeEmbeddingProblem& problem, WeightId table,
                              tensor::ConstView h, tensor::ConstView types, tensor::View x) = 0;
  virtual void gather_rows(const GatherProblem& problem, tensor::ConstView x,
                           tensor::ConstView indices, tensor::View y) = 0;
  virtual void action_features(const ActionFeaturesProblem& problem, tensor::ConstView raw_logits,
                               tensor::ConstView counts, tensor::ConstView first,
                               tensor::View logits, tensor::View features) = 0;
};

// A stretch of calls that a profiler shows under one name, a literal.
class Range {
 public:
  Range(Backend& backend, const char* name) : backend_(backend) { backend_.begin_range(name); }
  ~Range() { backend_.end_range(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  Backend& backend_;
};

}  // namespace abba::ops
