// A NetworkRecord from the CPU backend in fp32, for networks and batches that the double reference
// would take minutes for. It shares no code with a device. On `tiny` both are compared
// (network_test.cpp), so an error of the host's backend does not pass for a truth.
#pragma once

#include "engine/checkpoint/config.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/model/batch.h"
#include "engine/ops/reference/reference_network.h"

namespace abba::device {

// `round_weights` as in ops::reference::NetworkOptions. Padded rows hold values that mean nothing.
ops::reference::NetworkRecord record_reference(const checkpoint::ModelConfig& config,
                                               const checkpoint::SafetensorsFile& file,
                                               const model::Batch& batch, bool round_weights,
                                               int threads);

}  // namespace abba::device
