// The small byte-level BPE tokenizer that synthetic checkpoints carry, embedded in the library. Its
// files and the seeded program that made them lie in data/. Special ids are those of the English
// checkpoints: [CLS] 50281, [SEP] 50282, [PAD] 50283, [MASK] 50284, runs of n = 2..24 spaces 50278
// - n.
#pragma once

#include <string_view>

namespace abba::checkpoint {

std::string_view builtin_tokenizer_json();
std::string_view builtin_tokenizer_config_json();

}  // namespace abba::checkpoint
