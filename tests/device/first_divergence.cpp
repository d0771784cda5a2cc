#include "tests/device/first_divergence.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "engine/base/error.h"

namespace abba::device {
namespace {

// Floats in the order of their values: neighbours are one apart; both zeros are 0.
std::int64_t ordered(float value) {
  const auto bits = static_cast<std::int64_t>(std::bit_cast<std::int32_t>(value));
  return bits >= 0 ? bits : -(bits & 0x7FFFFFFF);
}

bool differ(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) != std::bit_cast<std::uint32_t>(b);
}

std::int64_t steps(float a, float b, bool is_bf16) {
  if (std::isnan(a) || std::isnan(b)) return -1;
  return std::abs(ordered(a) - ordered(b)) >> (is_bf16 ? 16U : 0U);
}

// The batch row and the position in it of row `row` of a stage.
struct Place {
  std::int64_t batch_row = 0;
  std::int64_t token = 0;
  bool is_padding = false;
};

Place place_of(const StageValues& stage, std::int64_t row, const model::Batch& batch) {
  const std::int64_t stage_rows =
      static_cast<std::int64_t>(stage.values.size()) / stage.columns / batch.shape.rows;
  Place place{row / stage_rows, row % stage_rows, false};
  const auto length = batch.lengths[static_cast<std::size_t>(place.batch_row)];
  place.is_padding = stage.by_token && place.token >= length;
  return place;
}

// The first difference of one stage, real tokens before padding.
std::optional<Divergence> compare(const StageValues& a, const StageValues& b,
                                  const model::Batch& batch) {
  ABBA_CHECK(a.name == b.name && a.values.size() == b.values.size() && a.columns == b.columns);
  std::optional<Divergence> found;
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (!differ(a.values[i], b.values[i])) continue;
    ++differing;
    if (found && !found->is_padding) continue;
    const auto index = static_cast<std::int64_t>(i);
    const Place place = place_of(a, index / a.columns, batch);
    if (found && place.is_padding) continue;
    found = Divergence{a.name,
                       place.batch_row,
                       place.token,
                       index % a.columns,
                       a.values[i],
                       b.values[i],
                       steps(a.values[i], b.values[i], a.is_bf16),
                       0,
                       place.is_padding};
  }
  if (found) found->differing = differing;
  return found;
}

}  // namespace

std::optional<Divergence> first_divergence(const Recording& first, const Recording& second,
                                           const model::Batch& batch) {
  ABBA_CHECK(first.size() == second.size());
  std::optional<Divergence> in_padding;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto found = compare(first[i], second[i], batch);
    if (found && !found->is_padding) return found;
    if (found && !in_padding) in_padding = found;
  }
  return in_padding;
}

std::string text_of(const Divergence& d) {
  std::ostringstream text;
  text.precision(9);
  text << d.stage << " row " << d.batch_row << " token " << d.token << " column " << d.column
       << ": " << d.first << " against " << d.second << ", ";
  if (d.ulp < 0) {
    text << "one is a NaN";
  } else {
    text << d.ulp << (d.ulp == 1 ? " step apart" : " steps apart");
  }
  text << "; " << d.differing << " values of the stage differ"
       << (d.is_padding ? ", all of them padding" : "");
  return text.str();
}

void Recorder::see(model::Stage stage, int layer, ops::Backend& backend, tensor::ConstView values) {
  StageValues seen;
  seen.name = model::stage_name(stage, layer);
  seen.is_bf16 = values.dtype() == tensor::DType::kBf16;
  seen.by_token = values.rows() == batch_.shape.rows * batch_.shape.tokens;
  seen.columns = values.columns();
  seen.values.resize(static_cast<std::size_t>(values.element_count()));
  backend.download(values, seen.values.data());
  recording.push_back(std::move(seen));
}

}  // namespace abba::device
