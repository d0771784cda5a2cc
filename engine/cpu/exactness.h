// What a level's declared exactness is worth on the machine at hand: each chosen level is run
// against the level it refers to, on random data, through the same backend code that will serve
// requests. Made for load time (some tens of milliseconds); what it says holds for this machine,
// this code, this product path and this thread count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cpu/backend.h"

namespace abba::cpu {

struct ProvedLevel {
  std::string_view factor;
  std::string_view level;     // the one in settings.choices
  std::string_view to;        // the level it was compared with
  ops::ExactnessKind proved;  // kBitwise, or kTolerance where bits differed
  std::string detail;         // what was compared, and how many values differed
};

// One entry per factor, in the order of ops::variant_tables(). `hidden` is the network's D, a
// multiple of 64: the depths of the products that marker_rows shortens are D and 4D.
[[nodiscard]] std::vector<ProvedLevel> prove_exactness(const Settings& settings,
                                                       std::int64_t hidden);

// Does the product give a row the same bits whatever the number of rows? What head_last_layer's
// class rests on. Compares every row of products with 1, 2, 3, 5, 7, 20 and 40 rows (one batch
// row's picked ones, and those of batches of 4 and 8) to those of one with `rows` >= 40. Returns
// the number of values that differ.
[[nodiscard]] std::int64_t count_row_differences(ops::Backend& backend, std::int64_t columns,
                                                 std::int64_t depth, std::int64_t rows);

}  // namespace abba::cpu
