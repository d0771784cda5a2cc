#include "harness/cli/command_words.h"

#include "engine/base/error.h"

namespace abba::cli {

using base::Error;
using base::ErrorCode;

std::vector<std::string> command_words(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < command.size();
    if (escapes) {
      word += command[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) {
        words.push_back(std::move(word));
      }
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) {
    throw Error(ErrorCode::kBadInput, std::string(command), "ends inside a quote; close it");
  }
  if (in_word) {
    words.push_back(std::move(word));
  }
  if (words.empty()) {
    throw Error(ErrorCode::kBadInput, "", "an empty command; name a program to run");
  }
  return words;
}

}  // namespace abba::cli
