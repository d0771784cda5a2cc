// `abba laya tokenize`: the rows a request becomes, as ids or as pieces.
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/text/prompt.h"
#include "engine/text/tokenizer.h"
#include "experiments/laya/terminal.h"
#include "experiments/laya/text_commands.h"

namespace abba::laya {
namespace {

std::string numbers(const std::vector<text::TokenId>& ids) {
  std::string line;
  for (const text::TokenId id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);
  return line + "\n";
}

// Pieces as the vocabulary spells them, one a line with position and id; markers are pointed at.
std::string pieces(const text::Tokenizer& tokenizer, const std::vector<text::TokenId>& ids,
                   const std::vector<std::int32_t>& markers) {
  std::string out;
  std::size_t next_marker = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool is_marker =
        next_marker < markers.size() && static_cast<std::size_t>(markers[next_marker]) == i;
    next_marker += is_marker ? 1 : 0;
    out += std::to_string(i) + "\t" + std::to_string(ids[i]) + "\t" +
           std::string(tokenizer.piece(ids[i])) + (is_marker ? "\t<- option" : "") + "\n";
  }
  return out;
}

}  // namespace

void tokenize(const Tokenize& options) {
  const text::Tokenizer tokenizer = text::Tokenizer::read(options.tokenizer);
  const text::EncodedState state = text::encode_state(tokenizer, read_state(options.state));
  if (options.questions.empty()) {
    return print_out(options.ids ? numbers(state.ids) : pieces(tokenizer, state.ids, {}));
  }
  std::string out;
  for (const text::Question& question :
       text::parse_questions(read_questions({.file = options.questions}))) {
    const text::PromptRow row =
        text::build_row(tokenizer, state, question, {options.max_len, options.head_max_len});
    if (options.ids) {
      out += numbers(row.ids);
    } else {
      out += question.id + ": " + std::to_string(row.ids.size()) + " tokens\n" +
             pieces(tokenizer, row.ids, row.markers);
    }
  }
  print_out(out);
}

}  // namespace abba::laya
