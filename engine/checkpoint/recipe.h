// The recipe of a synthetic checkpoint: how each tensor's elements are distributed, and the few
// elements set apart so that the network behaves like a trained one where a checker looks. Figures
// in brackets are measured in fp32 over rows of 48 and 64 random tokens, several seeds.
//
// Linear weights, biases and embeddings have sd 0.02, attn.Wo and mlp.Wo of the encoder 0.005, norm
// gains 1 +- 0.05. Set apart:
//  carrier    one channel whose embedding has mean 0.2, so that the embedding norm gives it nearly
//             the same number c (7.9 in tiny, 9.5 in english) for every token;
//  neighbours head 0 of every encoder layer reads the carrier into rotated dimensions of q and k so
//             that a token attends to the few tokens after it; in layers 0 and 1 this head's
//             columns of attn.Wo are large. Without it a row's option markers, which share one
//             embedding, would stay alike [relative spread 2e-4 in tiny; with it 0.19,
//             in student 0.28];
//  outliers   in layer 2's MLP one hidden unit reads the carrier alone; its value G is 1.657 for
//             nearly any carrier (see kSwitch). Its column of mlp.Wo writes +w, +w, -2w to three
//             channels: from there on the residual stream holds about 1.25e4, 1.25e4, -2.5e4
//             [0.98e4 to 2.8e4]. Their sum is zero, so they move no mean;
//  gains      such a row has a deviation of 1000 and more, which would shrink all other channels to
//             nothing. A trained model's gains undo that, and so do these: after the outliers a
//             gain is (row deviation / content deviation) times the usual, at the outliers
//             themselves 1/16;
//  scorer     scorer.3 is scaled per family so that logits spread with a deviation near 2.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/checkpoint/draw.h"
#include "engine/checkpoint/inventory.h"

namespace abba::checkpoint {

// Overrides, later kinds winning: columns, rows, single elements. A vector is one row.
struct ColumnRule {
  std::int64_t column;
  Distribution from;
};
struct RowRule {
  std::int64_t row;
  Distribution from;
};
struct ElementRule {
  std::int64_t row;
  std::int64_t column;
  float value;
};

struct TensorRecipe {
  Distribution from;
  std::vector<ColumnRule> columns;
  std::vector<RowRule> rows;
  std::vector<ElementRule> elements;
};

TensorRecipe recipe_of(const TensorSpec& spec, const ModelConfig& config);

// Elements [first, first + count) of the tensor, in F16.
void fill(const TensorRecipe& recipe, base::PhiloxKey key, const tensor::Shape& shape,
          std::int64_t first, std::int64_t count, base::F16* out);

// The three channels that carry the residual outliers: for checks that set them aside.
std::vector<std::int64_t> outlier_channels(const ModelConfig& config);

}  // namespace abba::checkpoint
