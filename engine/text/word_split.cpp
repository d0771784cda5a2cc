#include "engine/text/word_split.h"

#include "engine/text/unicode.h"

namespace abba::text {
namespace {

// Size of the contraction that `text` starts with, or 0.
std::size_t contraction_size(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  switch (text[1]) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return text.size() > 2 && text[2] == 'e' ? 3 : 0;
    case 'l':
      return text.size() > 2 && text[2] == 'l' ? 3 : 0;
    default:
      return 0;
  }
}

CharClass class_at(std::string_view text, std::size_t offset) {
  return char_class(code_point_at(text, offset).value);
}

// Where the run of code points of class `wanted` that starts at `offset` ends.
std::size_t run_end(std::string_view text, std::size_t offset, CharClass wanted) {
  while (offset < text.size()) {
    const CodePoint point = code_point_at(text, offset);
    if (char_class(point.value) != wanted) break;
    offset += point.size_bytes;
  }
  return offset;
}

}  // namespace

std::size_t first_gpt2_word(std::string_view text) {
  if (const std::size_t size = contraction_size(text)) return size;
  const std::size_t start = text[0] == ' ' ? 1 : 0;
  if (start < text.size()) {
    const CharClass wanted = class_at(text, start);
    if (wanted != CharClass::kSpace) return run_end(text, start, wanted);
  }
  const std::size_t end = run_end(text, 0, CharClass::kSpace);
  if (end == text.size()) return end;
  // Something follows: the last white space is left to it, unless it is all there is.
  const std::size_t last = previous_offset(text, end);
  return last == 0 ? end : last;
}

std::string replace_spaces(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    if (c == ' ') {
      out += kMetaspace;
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string with_leading_metaspace(std::string_view text) {
  if (text.empty() || text.substr(0, kMetaspace.size()) == kMetaspace) return std::string(text);
  return std::string(kMetaspace) + std::string(text);
}

std::size_t first_metaspace_word(std::string_view text) {
  const std::size_t next = text.find(kMetaspace, 1);
  return next == std::string_view::npos ? text.size() : next;
}

}  // namespace abba::text
