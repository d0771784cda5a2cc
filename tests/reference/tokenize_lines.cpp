// abba_tokenize_lines DIR [--prompts | --answers | --decode]: the C++ side of
// tests/reference/tokenizer_oracle.py. Reads one JSON value a line from standard input and prints
// one line for each: for a string its token ids; with --prompts for {"state":, "question":,
// "max_len":, "head_max_len":} the row's ids, a bar and the markers, or "refused: " and the reason;
// with --decode for a list of ids the JSON string of their text.
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/text/answer.h"
#include "engine/text/prompt.h"
#include "engine/text/python_json.h"
#include "engine/text/question.h"
#include "engine/text/tokenizer.h"

namespace {

namespace text = abba::text;

template <typename Numbers>
void append_numbers(const Numbers& numbers, std::string& out) {
  std::string_view separator;
  for (const auto number : numbers) {
    out += separator;
    out += std::to_string(number);
    separator = " ";
  }
}

const text::PyValue& member(const text::PyValue& request, std::string_view key) {
  const text::PyValue* value = request.find(key);
  if (value == nullptr) {
    throw abba::base::Error(abba::base::ErrorCode::kBadInput, "standard input",
                            "a request has no member \"" + std::string(key) + "\"");
  }
  return *value;
}

void append_prompt(const text::Tokenizer& tokenizer, const text::PyValue& request,
                   std::string& out) {
  try {
    const text::PromptBudget budget{std::stoll(member(request, "max_len").text),
                                    std::stoll(member(request, "head_max_len").text)};
    const auto question = text::parse_question("q", member(request, "question"));
    const auto state = text::encode_state(tokenizer, member(request, "state"));
    const text::PromptRow row = text::build_row(tokenizer, state, question, budget);
    append_numbers(row.ids, out);
    out += " | ";
    append_numbers(row.markers, out);
  } catch (const abba::base::Error& error) {
    out += std::string("refused: ") + error.what();
  }
}

std::vector<float> floats(const text::PyValue& list) {
  std::vector<float> out;
  for (const auto& item : list.items) out.push_back(static_cast<float>(item.number));
  return out;
}

void append_answer(const text::PyValue& request, std::string& out) {
  text::Temperatures temperatures;
  const auto& by_type = member(request, "temperature").items;
  for (std::size_t i = 0; i < 3 && i < by_type.size(); ++i) {
    temperatures.by_type[i] = by_type[i].number;
  }
  for (const auto& [key, value] : member(request, "by_options").members) {
    temperatures.by_options.emplace_back(key, value.number);
  }
  const auto question = text::parse_question("q", member(request, "question"));
  const auto answer = text::decode_answer(question, floats(member(request, "logits")),
                                          floats(member(request, "act")), temperatures);
  out += text::python_dumps(text::answer_value(question, answer));
}

int run(const std::string& directory, std::string_view mode) {
  const auto tokenizer = text::Tokenizer::read(directory);
  std::string out;
  for (std::string line; std::getline(std::cin, line);) {
    const text::PyValue value = text::parse_python_json(line, "standard input");
    if (mode == "--prompts") {
      append_prompt(tokenizer, value, out);
    } else if (mode == "--answers") {
      append_answer(value, out);
    } else if (mode == "--decode") {
      std::vector<text::TokenId> ids;
      for (const auto& item : value.items) ids.push_back(std::stoi(item.text));
      out += text::python_dumps(text::PyValue::of_string(tokenizer.decode(ids)));
    } else {
      append_numbers(tokenizer.encode(value.text), out);
    }
    out += '\n';
  }
  std::cout << out;
  return std::cout.flush() ? 0 : 5;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[2] : "";
  const bool known = mode == "--prompts" || mode == "--answers" || mode == "--decode";
  if (argc < 2 || argc > 3 || (argc == 3 && !known)) {
    std::cerr
        << "usage: abba_tokenize_lines TOKENIZER_DIR [--prompts | --answers | --decode] < LINES\n";
    return 2;
  }
  try {
    return run(argv[1], mode);
  } catch (const abba::base::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
