#include "engine/ops/variant.h"

#include <array>
#include <limits>

#include "engine/base/error.h"

namespace abba::ops {
namespace {

constexpr std::string_view kAny(const Extent&) {
  return {};
}

// Whether batch * rows * heads * parts * kHeadDim elements are more than unsigned 32-bit arithmetic
// can number. Division keeps the guard itself from overflowing.
bool exceeds_32_bits(std::int64_t batch, std::int64_t rows, std::int64_t heads,
                     std::int64_t parts) {
  if (batch == 0 || rows == 0 || heads == 0) return false;
  const std::int64_t limit = std::numeric_limits<std::uint32_t>::max();
  const std::int64_t per_head = parts * kHeadDim;
  return heads > limit / per_head || rows > limit / (per_head * heads) ||
         batch > limit / (per_head * heads * rows);
}

// The 32-bit levels index [B, L, 3, H, 64]. The real maximum is about 3.5e7 elements; beyond
// 2^32 - 1 the 64-bit level runs instead of an error.
std::string_view needs_32_bit_elements(const Extent& e) {
  if (!exceeds_32_bits(e.batch, e.length, e.heads, 3)) return {};
  return "the packed q, k, v of this shape exceed 2^32 - 1 elements, which 32-bit positions cannot "
         "address";
}

// rows_2d walks [M, N] with 32-bit indices; the widest bias is the FFN's 4D = 4 * 64 * H, over the
// tokens of a row or its 1 + options picked ones, which are more where every token is a marker.
std::string_view needs_32_bit_bias(const Extent& e) {
  const bool has_more_picked = e.options >= e.length && e.length > 0;
  if (!exceeds_32_bits(e.batch, has_more_picked ? e.options + 1 : e.length, e.heads, 4)) return {};
  return "the widest biased output of this shape exceeds 2^32 - 1 elements, which 32-bit indices "
         "cannot address";
}

constexpr Exactness same_bits(std::string_view to) {
  return {ExactnessKind::kBitwise, to, 0.0, 0.0};
}

constexpr std::array kRope = {
    Variant{"row_block_32", same_bits("row_block_32_div64"),
            "32 rows a block, all heads, 32-bit positions", needs_32_bit_elements},
    Variant{"row_block_32_div64", same_bits("row_block_32_div64"),
            "32 rows a block, all heads, a 64-bit division per element", kAny},
    Variant{"r1_h4", same_bits("row_block_32_div64"), "blocks of 1 row and 4 heads",
            needs_32_bit_elements},
    Variant{"r2_h4", same_bits("row_block_32_div64"), "blocks of 2 rows and 4 heads",
            needs_32_bit_elements},
    Variant{"r1_h8", same_bits("row_block_32_div64"), "blocks of 1 row and 8 heads",
            needs_32_bit_elements},
};

// Everything after keys and values is row-wise, so only a matrix product whose order of additions
// depends on the number of rows can make a difference. Where one does, it is a few fp32 roundings;
// the limits hold for bf16 activations over two layers of the families' weights (sd 0.02). Measured
// over 13 batches: none on this project's CPU paths; the biases' epilogue 0.0005 and 0.0026,
// and 0.007 and 0.12 with weights of six times that scale, which is beyond what is declared.
constexpr std::array kHeadLastLayer = {
    Variant{"all_tokens", same_bits("all_tokens"), "the last decision layer on every token", kAny},
    Variant{
        "marker_rows", Exactness{ExactnessKind::kTolerance, "all_tokens", 0.004, 0.03},
        "queries, output projection and FFN of the last decision layer on the option markers and "
        "row 0 alone; bitwise where the matrix product keeps one order for every number of rows",
        kAny},
};

constexpr std::array kAttentionOutput = {
    Variant{"head_major", same_bits("head_major"), "[B, H, L, 64], then a separate transpose",
            kAny},
    Variant{"row_major", same_bits("head_major"), "written as [B, L, D] by output strides", kAny},
};

constexpr std::array kBias = {
    Variant{"strided_div64", same_bits("strided_div64"),
            "a separate add over flat 64-bit positions with a modulo per element; rounds product "
            "and sum",
            kAny},
    Variant{"rows_2d", same_bits("strided_div64"),
            "a separate add over rows and columns; rounds product and sum", needs_32_bit_bias},
    Variant{"epilogue", Exactness{ExactnessKind::kTolerance, "strided_div64", 0.004, 0.03},
            "added to the fp32 accumulator before the one rounding; bitwise to an fp32 add of the "
            "unrounded product",
            kAny},
};

constexpr std::array kUpload = {
    Variant{"separate_sync", same_bits("separate_sync"),
            "ids, lengths, types and row numbers each copied and waited for", kAny},
    Variant{"grouped", same_bits("separate_sync"),
            "one page-locked staging block, one copy, no wait before the pass ends", kAny},
};

constexpr std::array kHandles = {
    Variant{"per_launch", same_bits("per_launch"),
            "kernel and weight looked up by name at each launch", kAny},
    Variant{"resolved", same_bits("per_launch"), "kernel and weight kept from load time", kAny},
};

// Another algorithm may add in another order.
constexpr std::array kGemm = {
    Variant{"heuristic", same_bits("heuristic"), "the library's first proposal for the shape",
            kAny},
    Variant{"pinned", Exactness{ExactnessKind::kTolerance, "heuristic", 0.004, 0.03},
            "the algorithm of the committed table for this toolkit, driver, chip and shape; the "
            "library's first proposal where there is no row",
            kAny},
};

constexpr std::array kDispatch = {
    Variant{"eager", same_bits("eager"), "each kernel launched by itself", kAny},
};

constexpr std::string_view kCuda = "cuda";

// Factors of every backend first.
constexpr std::array kTables = {
    VariantTable{"rope", "rotation of q and k", kRope, 1, {}},
    VariantTable{"head_last_layer", "last decision layer", kHeadLastLayer, 0, {}},
    VariantTable{"attention_output", "attention", kAttentionOutput, 0, {}},
    VariantTable{"bias", "linear layers of the decision layers", kBias, 0, {}},
    VariantTable{"upload", "copy of a batch to the device", kUpload, 0, kCuda},
    VariantTable{"handles", "every launch", kHandles, 0, kCuda},
    VariantTable{"gemm", "matrix products", kGemm, 0, kCuda},
    VariantTable{"dispatch", "the forward pass", kDispatch, 0, kCuda},
};
constexpr std::size_t kSharedTables = 4;

int level_index(const Choices& choices, int table) {
  switch (table) {
    case 0:
      return static_cast<int>(choices.rope);
    case 1:
      return static_cast<int>(choices.head_last_layer);
    case 2:
      return static_cast<int>(choices.attention_output);
    case 3:
      return static_cast<int>(choices.bias);
    case 4:
      return static_cast<int>(choices.upload);
    case 5:
      return static_cast<int>(choices.handles);
    case 6:
      return static_cast<int>(choices.gemm);
    default:
      return static_cast<int>(choices.dispatch);
  }
}

void set_level(Choices& choices, int table, int level) {
  switch (table) {
    case 0:
      choices.rope = static_cast<RopeVariant>(level);
      break;
    case 1:
      choices.head_last_layer = static_cast<HeadLastLayer>(level);
      break;
    case 2:
      choices.attention_output = static_cast<AttentionOutput>(level);
      break;
    case 3:
      choices.bias = static_cast<BiasVariant>(level);
      break;
    case 4:
      choices.upload = static_cast<Upload>(level);
      break;
    case 5:
      choices.handles = static_cast<Handles>(level);
      break;
    case 6:
      choices.gemm = static_cast<Gemm>(level);
      break;
    default:
      choices.dispatch = static_cast<Dispatch>(level);
      break;
  }
}

int table_index(std::string_view factor) {
  std::string known;
  for (std::size_t i = 0; i < kTables.size(); ++i) {
    if (kTables[i].factor == factor) return static_cast<int>(i);
    known += (i == 0 ? "" : ", ") + std::string(kTables[i].factor);
  }
  throw base::Error(base::ErrorCode::kBadInput, std::string(factor),
                    "is no factor of the engine; there are " + known);
}

}  // namespace

std::span<const VariantTable> variant_tables() {
  return kTables;
}

std::span<const VariantTable> variant_tables(std::string_view backend) {
  const std::span<const VariantTable> all = kTables;
  return backend == kCuda ? all : all.first(kSharedTables);
}

const VariantTable& variant_table(std::string_view factor) {
  return kTables[static_cast<std::size_t>(table_index(factor))];
}

void set_choice(Choices& choices, std::string_view factor, std::string_view level) {
  const int table = table_index(factor);
  const auto& variants = kTables[static_cast<std::size_t>(table)].variants;
  std::string known;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (variants[i].name == level) return set_level(choices, table, static_cast<int>(i));
    known += (i == 0 ? "" : ", ") + std::string(variants[i].name);
  }
  throw base::Error(base::ErrorCode::kBadInput, std::string(factor),
                    "has no level '" + std::string(level) + "'; there are " + known);
}

std::string_view level_of(const Choices& choices, std::string_view factor) {
  const int table = table_index(factor);
  const auto& variants = kTables[static_cast<std::size_t>(table)].variants;
  return variants[static_cast<std::size_t>(level_index(choices, table))].name;
}

Choices effective_choices(const Choices& wanted, const Extent& extent, std::string* note) {
  Choices effective = wanted;
  for (int table = 0; table < static_cast<int>(kTables.size()); ++table) {
    const VariantTable& t = kTables[static_cast<std::size_t>(table)];
    const Variant& asked = t.variants[static_cast<std::size_t>(level_index(wanted, table))];
    const std::string_view reason = asked.refusal(extent);
    if (reason.empty()) continue;
    set_level(effective, table, t.fallback);
    if (note == nullptr) continue;
    if (!note->empty()) *note += ' ';
    *note += std::string(t.factor) + ": " + std::string(asked.name) + " fell back to " +
             std::string(t.variants[static_cast<std::size_t>(t.fallback)].name) + ": " +
             std::string(reason) + ".";
  }
  return effective;
}

std::string_view name_of(Precision precision) {
  return precision == Precision::kBf16 ? "bf16" : "fp32";
}

Precision precision_by_name(std::string_view name) {
  if (name == "fp32") return Precision::kFp32;
  if (name == "bf16") return Precision::kBf16;
  throw base::Error(base::ErrorCode::kBadInput, "precision",
                    "is '" + std::string(name) + "'; there are fp32 and bf16");
}

std::string_view name_of(ExactnessKind kind) {
  switch (kind) {
    case ExactnessKind::kBitwise:
      return "bitwise";
    case ExactnessKind::kSameOrder:
      return "same-order";
    default:
      return "tolerance";
  }
}

}  // namespace abba::ops
