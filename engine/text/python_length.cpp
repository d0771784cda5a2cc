// The length of what Python prints for a value, counted without printing it.
#include <algorithm>

#include "engine/text/python_json.h"
#include "engine/text/unicode.h"

namespace abba::text {
namespace {

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

std::size_t escaped_length(char32_t value) {
  if (value == '\\' || value == '\n' || value == '\r' || value == '\t') return 2;
  if (is_printable(value)) return 1;
  return value < 0x100 ? 4 : value < 0x10000 ? 6 : 10;  // \xNN, \uNNNN, \UNNNNNNNN
}

// A single quote is escaped only where double quotes stand beside it.
std::size_t repr_length(std::string_view text) {
  std::size_t length = 2;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    length += escaped_length(point.value);
    at += point.size_bytes;
  }
  const bool both = text.find('\'') != text.npos && text.find('"') != text.npos;
  return both ? length + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\''))
              : length;
}

std::size_t repr_length(const PyValue& value) {
  std::size_t length = 2;  // the brackets, then ", " between
  switch (value.kind) {
    case PyValue::Kind::kString:
      return repr_length(value.text);
    case PyValue::Kind::kList:
      for (const PyValue& item : value.items) length += repr_length(item) + 2;
      return value.items.empty() ? length : length - 2;
    case PyValue::Kind::kDict:
      for (const auto& [key, member] : value.members) {
        length += repr_length(key) + 2 + repr_length(member) + 2;
      }
      return value.members.empty() ? length : length - 2;
    default:
      return python_str(value).size();
  }
}

}  // namespace

std::size_t python_str_length(const PyValue& value) {
  return value.is_string() ? count_code_points(value.text) : repr_length(value);
}

}  // namespace abba::text
