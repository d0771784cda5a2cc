// A checkpoint and a batch through the double-precision reference: what a network's outputs are
// checked against. Shares nothing with Network but the inputs.
#pragma once

#include <cstdint>

#include "engine/checkpoint/config.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/model/batch.h"
#include "engine/ops/reference/reference_network.h"

namespace abba::model {

// Checks the batch first (Error(kBadInput)). Reads one tensor at a time; English 1 x 48 takes some
// ten seconds on one core.
ops::reference::NetworkRecord reference_forward(const checkpoint::ModelConfig& config,
                                                const checkpoint::SafetensorsFile& file,
                                                const Batch& batch,
                                                const ops::reference::NetworkOptions& options = {});

// A batch of random rows: ids uniform over the vocabulary, lengths from about L/2 to L (the first
// row has L), types at random, 2..K markers a row (the first row has K) at distinct random
// positions, all with one id, the one after the padding's: [MASK] in the English vocabulary. Same
// seed, same batch on every machine.
Batch random_batch(const checkpoint::ModelConfig& config, const Shape& shape, std::uint64_t seed);

}  // namespace abba::model
