// The factors of the engine: for each, a table of levels with the exactness each declares, and a
// guard that says on the host whether a level supports a size. Adding a kernel variant is adding a
// row here and a case in each backend. Parity tests, `variants` listings and the worker's hello
// read these tables. Factors that only one backend has (how a device is fed and launched) name it
// and come after the others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/ops/problem.h"

namespace abba::ops {

enum class ExactnessKind {
  kBitwise,    // the same bits as level `to`
  kSameOrder,  // the same order of additions as level `to`: bitwise expected, proved at load
  kTolerance,  // within the limits of level `to`
};

struct Exactness {
  ExactnessKind kind = ExactnessKind::kBitwise;
  std::string_view to;  // the level compared with; its own name for the level others refer to
  // kTolerance: limits on the hidden states that the heads read, bf16 activations, weights of the
  // families' scale.
  double nrms = 0.0;
  double max_abs = 0.0;
};

// Sizes a guard looks at: those of the whole network's shape, not of one launch.
struct Extent {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  std::int64_t heads = 0;
  std::int64_t options = 0;  // largest number of markers in a row
};

struct Variant {
  std::string_view name;
  Exactness exactness;
  std::string_view description;
  // Empty if `extent` is supported, else the reason as one sentence. Pure; looks at sizes alone.
  std::string_view (*refusal)(const Extent& extent);
};

struct VariantTable {
  std::string_view factor;
  std::string_view op;  // what reads it
  std::span<const Variant> variants;
  int fallback = 0;          // the level that supports every extent
  std::string_view backend;  // the only one that has the factor; empty: every backend
};

// How a batch gets to the device: ids, lengths, types, ... each copied and waited for, or all of
// them through one staging block in one copy.
enum class Upload { kSeparateSync, kGrouped };
// Whether kernels and weights are looked up by name at each launch or kept from load time.
enum class Handles { kPerLaunch, kResolved };
// Where a matrix product's algorithm comes from: the library's first answer, or the committed
// table.
enum class Gemm { kHeuristic, kPinned };
// How a forward pass is issued.
enum class Dispatch { kEager };

// The level selected for each factor, applied to all ops of one network.
struct Choices {
  RopeVariant rope = RopeVariant::kR1H4;
  HeadLastLayer head_last_layer = HeadLastLayer::kMarkerRows;
  AttentionOutput attention_output = AttentionOutput::kRowMajor;
  BiasVariant bias = BiasVariant::kEpilogue;
  Upload upload = Upload::kGrouped;
  Handles handles = Handles::kResolved;
  Gemm gemm = Gemm::kPinned;
  Dispatch dispatch = Dispatch::kEager;
  friend bool operator==(const Choices&, const Choices&) = default;
};

// rope, head_last_layer, attention_output, bias, then upload, handles, gemm, dispatch; the order of
// Variant rows is that of the enums.
std::span<const VariantTable> variant_tables();
// The factors of one backend, by its name().
std::span<const VariantTable> variant_tables(std::string_view backend);
// Throws Error(kBadInput) naming the factors there are.
const VariantTable& variant_table(std::string_view factor);

// Sets `factor` to `level` by name; throws Error(kBadInput) naming the factors or levels there are.
void set_choice(Choices& choices, std::string_view factor, std::string_view level);
// The name of the level in force. `factor` as for variant_table.
std::string_view level_of(const Choices& choices, std::string_view factor);

// What can really run at `extent`: each level that refuses is replaced by its factor's fallback.
// `note` (may be null) receives one sentence per replacement; it stays empty if there is none.
Choices effective_choices(const Choices& wanted, const Extent& extent, std::string* note);

std::string_view name_of(Precision precision);       // "fp32", "bf16"
Precision precision_by_name(std::string_view name);  // throws Error(kBadInput)
std::string_view name_of(ExactnessKind kind);        // "bitwise", "same-order", "tolerance"

}  // namespace abba::ops
