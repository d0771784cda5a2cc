// The exact tensors a checkpoint of a given config holds: names and shapes, in the order a reader
// of the network would expect (embeddings, encoder layers, decision layers, heads).
#pragma once

#include <string>
#include <vector>

#include "engine/checkpoint/config.h"
#include "engine/tensor/shape.h"

namespace abba::checkpoint {

struct TensorSpec {
  std::string name;
  tensor::Shape shape;
};

// 206 tensors for english and typed, 170 for multilingual. Linear weights are [out, in].
std::vector<TensorSpec> tensor_inventory(const ModelConfig& config);

// The file of all tensors below a checkpoint directory.
std::string model_path(const std::string& checkpoint_dir);

}  // namespace abba::checkpoint
