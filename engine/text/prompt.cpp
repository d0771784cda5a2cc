#include "engine/text/prompt.h"

#include <algorithm>
#include <set>
#include <string>

#include "engine/base/error.h"

namespace abba::text {
namespace {

constexpr std::size_t kMaxOptionIds = 48;    // without [MASK]
constexpr std::int64_t kMinHeadBudget = 16;  // below, the options are cut
constexpr std::int64_t kMinHeadIds = 8;
constexpr std::int64_t kMinCutOptionIds = 4;  // [MASK] included
constexpr std::int64_t kMaxBudget = 8192;

// Leftmost, not overlapping, not again in what results.
std::string without_mask(std::string_view text, std::string_view mask) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = std::min(text.find(mask, at), text.size());
    out += text.substr(at, found - at);
    if (found == text.size()) break;
    out.push_back(' ');
    at = found + mask.size();
  }
  return out;
}

std::int64_t signed_size(const std::vector<TokenId>& ids) {
  return static_cast<std::int64_t>(ids.size());
}

void cut(std::vector<TokenId>& ids, std::int64_t limit) {
  if (signed_size(ids) > limit)
    ids.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, limit)));
}

std::string where_of(const Question& question) {
  return "question \"" + question.id + "\"";
}

void check_budget(const Question& question, std::int64_t value, const char* name) {
  if (value < 1 || value > kMaxBudget) {
    throw base::Error(base::ErrorCode::kBadInput, where_of(question),
                      std::string(name) + " is " + std::to_string(value) +
                          ", it must be from 1 to " + std::to_string(kMaxBudget));
  }
}

std::vector<std::vector<TokenId>> encode_options(const Tokenizer& tokenizer,
                                                 const Question& question) {
  const SpecialTokens& special = tokenizer.special();
  std::vector<std::vector<TokenId>> options;
  for (const std::string& option : question.options) {
    std::vector<TokenId> ids = {special.mask};
    const std::vector<TokenId> text =
        tokenizer.encode(" " + without_mask(option, special.mask_text), where_of(question));
    const std::size_t kept = std::min(text.size(), kMaxOptionIds);
    ids.insert(ids.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(kept));
    options.push_back(std::move(ids));
  }
  return options;
}

std::int64_t head_budget(const std::vector<std::vector<TokenId>>& options, std::int64_t limit) {
  for (const auto& option : options) limit -= signed_size(option);
  return limit;
}

void append_state(PromptRow& row, const EncodedState& state, std::int64_t max_len) {
  const std::int64_t room = std::max<std::int64_t>(0, max_len - signed_size(row.ids) - 1);
  const auto kept = std::min(room, signed_size(state.ids));
  const auto begin = state.keeps_newest ? state.ids.end() - kept : state.ids.begin();
  row.ids.insert(row.ids.end(), begin, begin + kept);
  row.state_ids = state.ids.size();
  row.state_ids_kept = static_cast<std::size_t>(kept);
}

}  // namespace

PromptBudget PromptBudget::of(const checkpoint::ModelConfig& config) {
  return {config.max_len, config.head_max_len};
}

EncodedState encode_state(const Tokenizer& tokenizer, const PyValue& state) {
  return {tokenizer.encode(without_mask(rendered(state), tokenizer.special().mask_text), "state"),
          state.is_list()};
}

PromptRow build_row(const Tokenizer& tokenizer, const EncodedState& state, const Question& question,
                    const PromptBudget& budget) {
  check_budget(question, budget.max_len, "max_len");
  check_budget(question, budget.head_max_len, "head_max_len");
  const SpecialTokens& special = tokenizer.special();
  std::vector<TokenId> head =
      tokenizer.encode(std::string(name_of(question.type)) +
                           " question: " + without_mask(question.instructions, special.mask_text),
                       where_of(question));
  std::vector<std::vector<TokenId>> options = encode_options(tokenizer, question);
  PromptRow row;
  row.type = question.type;
  std::int64_t left = head_budget(options, budget.head_max_len);
  if (left < kMinHeadBudget) {
    const auto count = static_cast<std::int64_t>(options.size());
    const std::int64_t share =
        std::max(kMinCutOptionIds, (budget.head_max_len - kMinHeadBudget) / count);
    for (auto& option : options) cut(option, share);
    row.option_ids_limit = share;
    left = head_budget(options, budget.head_max_len);
  }
  cut(head, std::max(kMinHeadIds, left));

  row.ids = {special.cls};
  row.ids.insert(row.ids.end(), head.begin(), head.end());
  row.ids.push_back(special.sep);
  for (const auto& option : options) {
    row.markers.push_back(static_cast<std::int32_t>(row.ids.size()));
    row.ids.insert(row.ids.end(), option.begin(), option.end());
  }
  row.ids.push_back(special.sep);
  row.distinct_options = std::set(options.begin(), options.end()).size();
  append_state(row, state, budget.max_len);
  row.ids.push_back(special.sep);
  cut(row.ids, budget.max_len);
  if (row.markers.back() >= budget.max_len) {
    throw base::Error(base::ErrorCode::kBadInput, where_of(question),
                      "options exceed head_max_len=" + std::to_string(budget.head_max_len) +
                          "; give fewer or shorter options or a larger max_len");
  }
  return row;
}

}  // namespace abba::text
