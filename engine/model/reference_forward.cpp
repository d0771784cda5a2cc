#include "engine/model/reference_forward.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/tensor/convert.h"

namespace abba::model {
namespace {

using checkpoint::ModelConfig;
namespace reference = ops::reference;

reference::NetworkSizes sizes_of(const ModelConfig& config) {
  reference::NetworkSizes sizes;
  sizes.hidden = config.hidden_size;
  sizes.heads = config.attention_heads;
  sizes.gated = config.intermediate_size;
  sizes.vocabulary = config.vocab_size;
  for (const checkpoint::LayerType type : config.layer_types) {
    sizes.full_layers.push_back(type == checkpoint::LayerType::kFull);
  }
  sizes.half_window = config.half_window;
  sizes.theta_full = static_cast<float>(config.rope_theta_full);
  sizes.theta_sliding = static_cast<float>(config.rope_theta_sliding);
  sizes.epsilon = static_cast<float>(config.norm_eps);
  sizes.decision_layers = config.head_layer_count;
  sizes.action_hidden = ModelConfig::kActHiddenSize;
  sizes.actions = config.action_count;
  return sizes;
}

std::vector<float> elements(const tensor::ConstView& view, std::int64_t first, std::int64_t count) {
  ABBA_CHECK(first >= 0 && count >= 0 && first <= view.element_count() - count);
  std::vector<float> values(static_cast<std::size_t>(count));
  const auto flat = view.reshaped(tensor::Shape{1, view.element_count()});
  tensor::convert(flat.slice_columns(first, count), values.data());
  return values;
}

}  // namespace

reference::NetworkRecord reference_forward(const ModelConfig& config,
                                           const checkpoint::SafetensorsFile& file,
                                           const Batch& batch,
                                           const reference::NetworkOptions& options) {
  check_batch(batch, config);
  const auto source = [&file](const std::string& name, std::int64_t first, std::int64_t count) {
    return elements(file.view(name), first, count);
  };
  const reference::NetworkInput input{batch.shape.rows, batch.shape.tokens, batch.shape.options,
                                      batch.ids,        batch.lengths,      batch.types,
                                      batch.markers,    batch.counts};
  return reference::run_network(sizes_of(config), source, input, options);
}

Batch random_batch(const ModelConfig& config, const Shape& shape, std::uint64_t seed) {
  check_shape(shape, config);
  base::Random random(seed);
  const auto below = [&random](std::int64_t bound) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
  };
  std::vector<Row> rows(static_cast<std::size_t>(shape.rows));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::int64_t spread = r == 0 ? 0 : below(shape.tokens - shape.tokens / 2);
    const std::int64_t length = std::max<std::int64_t>(shape.tokens - spread, 1);
    for (std::int64_t i = 0; i < length; ++i) {
      rows[r].ids.push_back(static_cast<std::int32_t>(below(config.vocab_size)));
    }
    rows[r].type = static_cast<std::int32_t>(below(3));
    const std::int64_t most = std::min(shape.options, length);
    const std::int64_t fewest = std::min<std::int64_t>(2, most);
    const std::int64_t markers = r == 0 ? most : fewest + below(most - fewest + 1);
    std::vector<std::int32_t> positions(static_cast<std::size_t>(length));
    std::iota(positions.begin(), positions.end(), 0);
    random.shuffle(positions);
    rows[r].markers.assign(positions.begin(), positions.begin() + markers);
    const auto mask = static_cast<std::int32_t>((config.pad_token_id + 1) % config.vocab_size);
    for (const std::int32_t marker : rows[r].markers) {
      rows[r].ids[static_cast<std::size_t>(marker)] = mask;
    }
    std::sort(rows[r].markers.begin(), rows[r].markers.end());
  }
  return make_batch(rows, config.pad_token_id, shape);
}

}  // namespace abba::model
