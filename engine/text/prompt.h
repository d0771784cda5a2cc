// A state and a question to one row of token ids:
//   [CLS] head [SEP] [MASK] option 0 [MASK] option 1 ... [SEP] state [SEP]
// with the budgets and cuts of the original. The state is encoded once and shared by its questions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/checkpoint/config.h"
#include "engine/text/question.h"
#include "engine/text/tokenizer.h"

namespace abba::text {

struct PromptBudget {
  std::int64_t max_len = 512;       // ids in a row, at most
  std::int64_t head_max_len = 192;  // head and options together, approximately

  static PromptBudget of(const checkpoint::ModelConfig& config);
};

struct EncodedState {
  std::vector<TokenId> ids;
  bool keeps_newest = false;  // a list: what does not fit is cut at the front
};

struct PromptRow {
  std::vector<TokenId> ids;
  std::vector<std::int32_t> markers;  // positions of the [MASK] before each option, ascending
  QuestionType type = QuestionType::kChoice;
  // What the cuts did.
  std::size_t state_ids = 0;  // of the whole state
  std::size_t state_ids_kept = 0;
  std::size_t distinct_options = 0;              // options that still differ in their ids
  std::optional<std::int64_t> option_ids_limit;  // ids an option was cut to, [MASK] included

  [[nodiscard]] bool is_truncated() const { return state_ids_kept < state_ids; }
};

// Ids of the state (a string verbatim, anything else as JSON; literal mask tokens become spaces).
EncodedState encode_state(const Tokenizer& tokenizer, const PyValue& state);

// Throws Error(kBadInput) if an option's marker falls outside max_len ("options exceed
// head_max_len"), or if a budget is outside 1..8192.
PromptRow build_row(const Tokenizer& tokenizer, const EncodedState& state, const Question& question,
                    const PromptBudget& budget);

}  // namespace abba::text
