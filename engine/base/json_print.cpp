#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/utf8.h"

namespace abba::base {
namespace {

void print_ascii(char c, std::string& out) {
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      if (byte < 0x20) {
        static constexpr char kDigits[] = "0123456789abcdef";
        out += "\\u00";
        out.push_back(kDigits[byte >> 4]);
        out.push_back(kDigits[byte & 15]);
      } else {
        out.push_back(c);
      }
  }
}

// Text of other programs may hold any bytes: what is not UTF-8 is replaced, so that what is written
// can be read again.
void print_string(std::string_view text, std::string& out) {
  out.push_back('"');
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_sequence_length(text, i);
    if (length != 1) {
      out += length == 0 ? kReplacementCharacter : text.substr(i, length);
      i += std::max<std::size_t>(length, 1);
      continue;
    }
    print_ascii(text[i++], out);
  }
  out.push_back('"');
}

template <typename Number>
void print_number(Number value, std::string& out) {
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, result.ptr);
}

void print_double(double value, std::string& out) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (!std::isfinite(value)) {
    throw Error(ErrorCode::kBadInput, "", "a number that is not finite cannot be written as JSON");
  }
  if (value == std::floor(value) && std::abs(value) < kExactIntegers) {
    print_number(static_cast<std::int64_t>(value), out);
  } else {
    print_number(value, out);
  }
}

struct PrintStyle {
  bool sorted;
  bool pretty;
};

void newline(const PrintStyle& style, int depth, std::string& out) {
  if (style.pretty) {
    out.push_back('\n');
    out.append(2 * static_cast<std::size_t>(depth), ' ');
  }
}

void print(const Json& json, const PrintStyle& style, int depth, std::string& out);

void print_object(const Json::Object& object, const PrintStyle& style, int depth,
                  std::string& out) {
  std::vector<const Json::Member*> members;
  members.reserve(object.size());
  for (const auto& member : object) {
    members.push_back(&member);
  }
  if (style.sorted) {
    std::sort(members.begin(), members.end(),
              [](const auto* a, const auto* b) { return a->first < b->first; });
  }
  out.push_back('{');
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i > 0) {
      out.push_back(',');
    }
    newline(style, depth + 1, out);
    print_string(members[i]->first, out);
    out += style.pretty ? ": " : ":";
    print(members[i]->second, style, depth + 1, out);
  }
  if (!members.empty()) {
    newline(style, depth, out);
  }
  out.push_back('}');
}

// Short arrays of scalars stay on one line, so that files people read do not become columns of
// numbers.
bool is_short_scalar_list(const Json::Array& array) {
  return array.size() <= 16 && std::none_of(array.begin(), array.end(), [](const Json& item) {
           return item.is_array() || item.is_object() ||
                  (item.is_string() && item.as_string().size() > 24);
         });
}

void print_array(const Json::Array& array, const PrintStyle& style, int depth, std::string& out) {
  const bool one_line = is_short_scalar_list(array);
  out.push_back('[');
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (i > 0) {
      out += one_line && style.pretty ? ", " : ",";
    }
    if (!one_line) {
      newline(style, depth + 1, out);
    }
    print(array[i], style, depth + 1, out);
  }
  if (!array.empty() && !one_line) {
    newline(style, depth, out);
  }
  out.push_back(']');
}

void print(const Json& json, const PrintStyle& style, int depth, std::string& out) {
  if (json.is_null()) {
    out += "null";
  } else if (json.is_bool()) {
    out += json.as_bool() ? "true" : "false";
  } else if (json.is_int()) {
    print_number(json.as_int(), out);
  } else if (json.is_integer()) {
    print_number(json.as_uint(), out);
  } else if (json.is_number()) {
    print_double(json.as_double(), out);
  } else if (json.is_string()) {
    print_string(json.as_string(), out);
  } else if (json.is_array()) {
    print_array(json.as_array(), style, depth, out);
  } else {
    print_object(json.as_object(), style, depth, out);
  }
}

}  // namespace

std::string Json::dump() const {
  std::string out;
  print(*this, {.sorted = false, .pretty = false}, 0, out);
  return out;
}

std::string Json::dump_pretty() const {
  std::string out;
  print(*this, {.sorted = false, .pretty = true}, 0, out);
  out.push_back('\n');
  return out;
}

std::string Json::canonical() const {
  std::string out;
  print(*this, {.sorted = true, .pretty = false}, 0, out);
  return out;
}

}  // namespace abba::base
