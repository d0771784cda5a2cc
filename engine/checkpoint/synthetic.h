// Seeded synthetic checkpoints in the official layout: a stand-in for weights that cannot be
// shipped, the same bytes on every machine. What makes them useful to a checker: residual outliers
// as a trained ModernBERT has them, and logits with a real spread. The recipe is in recipe.h.
#pragma once

#include <cstdint>
#include <string>

#include "engine/checkpoint/config.h"

namespace abba::checkpoint {

struct SyntheticOptions {
  std::uint64_t seed = 1;
  std::string out_dir;
  std::string tokenizer = "builtin";  // "builtin", "none", or a directory with tokenizer.json in it
  int thread_count = 2;
};

// Writes model.safetensors (F16, temperature F32), rl_agent_config.json, encoder/config.json and
// the tokenizer. The directory is built beside `out_dir` and renamed, so it is there whole or not
// at all. Throws Error(kBadInput) if `out_dir` exists and is not an empty directory or the
// tokenizer directory lacks its files, Error(kBroken) if writing fails.
void make_synthetic(const ModelConfig& config, const SyntheticOptions& options);

}  // namespace abba::checkpoint
