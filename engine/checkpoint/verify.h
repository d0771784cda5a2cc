// Looks at a checkpoint directory: is it what its config says, and what is in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/checkpoint/config.h"
#include "engine/checkpoint/inventory.h"
#include "engine/checkpoint/safetensors.h"

namespace abba::checkpoint {

// Every mistake of the tensors against the inventory of `config`, one sentence each, with file and
// tensor: missing, extra, renamed (an extra one that has the shape and nearly the name of a missing
// one), wrong shape, a dtype that is not F16, BF16 or F32.
std::vector<std::string> verify_tensors(const SafetensorsFile& file, const ModelConfig& config);

// Every mistake of a checkpoint directory, the files' own included; empty if it is sound.
std::vector<std::string> verify_checkpoint(const std::string& checkpoint_dir);

// Opens what verify_checkpoint accepts. Throws Error(kBadInput) with the first mistake and how many
// more.
struct Checkpoint {
  ModelConfig config;
  SafetensorsFile file;

  explicit Checkpoint(const std::string& checkpoint_dir);
};

struct DTypeTotal {
  tensor::DType dtype = tensor::DType::kF32;
  std::uint64_t tensor_count = 0;
  std::uint64_t parameter_count = 0;
  std::uint64_t size_bytes = 0;
};

struct Inspection {
  std::string family;  // or "custom"
  ModelConfig config;
  std::vector<TensorInfo> tensors;
  std::vector<DTypeTotal> by_dtype;   // only those present
  std::uint64_t parameter_count = 0;  // without the buffer `temperature`, as published
  std::uint64_t file_bytes = 0;
  std::string sha256;  // of model.safetensors
  bool has_tokenizer = false;
};

// Throws Error(kBadInput) if the files cannot be opened; the inventory is not judged.
Inspection inspect_checkpoint(const std::string& checkpoint_dir);

// The inspection as a table people read: totals and config first, then one line a tensor.
std::string inspection_text(const Inspection& inspection);

}  // namespace abba::checkpoint
