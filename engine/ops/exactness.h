// What a level's declared exactness is worth on the machine at hand: each chosen level is run
// against the level it refers to, on random data, through the backend that will serve requests (or
// one made like it). Made for load time (some tens of milliseconds); what it says holds for this
// machine, this code, this product path and this thread count. Leaves weights and plans behind in
// the backend.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ops/backend.h"

namespace abba::ops {

struct ProvedLevel {
  std::string_view factor;
  std::string_view level;  // the one in backend.choices()
  std::string_view to;     // the level it was compared with
  ExactnessKind proved;    // kBitwise, or kTolerance where bits differed
  std::string detail;      // what was compared, and how many values differed
};

struct ProofSizes {
  std::int64_t hidden = 0;  // the network's D, a multiple of 64
  // (columns, depth) of products that head_last_layer = marker_rows gives fewer rows.
  std::vector<std::pair<std::int64_t, std::int64_t>> products;
  std::int64_t split_rows = 512;  // of the product that gives q, k and v at once
};

// One entry per factor whose level computes or moves values, in the order of
// variant_tables(backend.name()): the shared factors, then upload. (handles and dispatch change no
// value; gemm declares a tolerance.)
[[nodiscard]] std::vector<ProvedLevel> prove_exactness(Backend& backend, const ProofSizes& sizes);

// Does the product give a row the same bits whatever the number of rows? What head_last_layer's
// class rests on. Compares every row of products with 1, 2, 3, 5, 7, 20 and 40 rows (one batch
// row's picked ones, and those of batches of 4 and 8) to those of one with `rows` >= 40. Returns
// the number of values that differ.
[[nodiscard]] std::int64_t count_row_differences(Backend& backend, std::int64_t columns,
                                                 std::int64_t depth, std::int64_t rows);

// marker_rows takes k and v of all rows from one product and q of few rows from another, all_tokens
// the three from one of 3 * hidden columns. Compares them as above.
[[nodiscard]] std::int64_t count_split_differences(Backend& backend, std::int64_t hidden,
                                                   std::int64_t rows);

}  // namespace abba::ops
