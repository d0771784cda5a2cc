// The work of a forward pass: the sum of its operations' estimates (engine/ops/work.h), every row
// taken at its padded length, since that is what a launch computes.
#pragma once

#include "engine/checkpoint/config.h"
#include "engine/model/batch.h"
#include "engine/ops/variant.h"
#include "engine/ops/work.h"

namespace abba::model {

// Embedding, encoder, type embedding and decision layers.
ops::Work encode_work(const Shape& shape, const checkpoint::ModelConfig& config,
                      const ops::Choices& choices, ops::Precision precision);
// Marker gather, scorer, action head.
ops::Work decide_work(const Shape& shape, const checkpoint::ModelConfig& config,
                      ops::Precision precision);

}  // namespace abba::model
