#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/text/python_json.h"
#include "engine/text/unicode.h"

namespace abba::text {
namespace {

constexpr std::size_t kMaxIntegerDigits = 4300;  // sys.get_int_max_str_digits()
constexpr std::size_t kIndexedFrom = 16;         // members from which keys are looked up by hash

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Python's float(): correctly rounded, out of range to infinity or zero.
double to_double(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc::result_out_of_range) return value;
  // Where the first digit that counts stands, in powers of ten, decides which way it went out.
  const bool negative = text.front() == '-';
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(negative ? 1 : 0, mark - (negative ? 1 : 0));
  const std::size_t first = mantissa.find_first_of("123456789");
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const double place = static_cast<double>(point) - static_cast<double>(first);
  double exponent = 0;
  if (mark < text.size()) {
    const std::string_view digits = text.substr(mark + (text[mark + 1] == '+' ? 2 : 1));
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc()) {
      exponent = digits.front() == '-' ? -1e300 : 1e300;
    }
  }
  value = place + exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  return negative ? -value : value;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view where, const PythonJsonLimits& limits)
      : text_(text), where_(where), limits_(limits) {}

  PyValue parse() {
    skip_space();
    PyValue value = parse_value(0);
    skip_space();
    if (at_ != text_.size()) fail("there is more after the value");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw base::Error(base::ErrorCode::kBadInput, std::string(where_),
                      "is not valid JSON at byte " + std::to_string(at_) + ": " + what);
  }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\n\r").find(text_[at_]) != std::string::npos) {
      ++at_;
    }
  }

  PyValue parse_value(int depth) {
    if (depth > limits_.max_depth) fail("it is nested too deeply");
    switch (peek()) {
      case '{':
        return parse_dict(depth);
      case '[':
        return parse_list(depth);
      case '"':
        return PyValue::of_string(parse_string());
      default:
        break;
    }
    if (take("null")) return {};
    if (take("true")) return PyValue::of_bool(true);
    if (take("false")) return PyValue::of_bool(false);
    if (take("NaN")) return PyValue::of_float(std::numeric_limits<double>::quiet_NaN());
    if (take("Infinity")) return PyValue::of_float(std::numeric_limits<double>::infinity());
    if (take("-Infinity")) return PyValue::of_float(-std::numeric_limits<double>::infinity());
    if (is_digit(peek()) || peek() == '-') return parse_number();
    fail(at_ == text_.size() ? "it ends too early" : "a value is expected here");
  }

  void take_digits() {
    if (!is_digit(peek())) fail("a digit is expected here");
    while (is_digit(peek())) ++at_;
  }

  PyValue parse_number() {
    const std::size_t start = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else {
      take_digits();
    }
    const std::size_t integer_end = at_;
    if (peek() == '.') {
      ++at_;
      take_digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      take_digits();
    }
    const std::string_view text = text_.substr(start, at_ - start);
    if (at_ != integer_end) return PyValue::of_float(to_double(text));
    if (text.size() - (text.front() == '-' ? 1 : 0) > kMaxIntegerDigits) {
      fail("the integer before has more than 4300 digits");
    }
    PyValue value = PyValue::of_int(0);
    if (text != "-0") value.text = text;
    return value;
  }

  char32_t parse_hex4() {
    char32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const char lower = static_cast<char>(c | 0x20);
      if (!is_digit(c) && (lower < 'a' || lower > 'f'))
        fail("four hexadecimal digits are expected");
      value = value * 16 + static_cast<char32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
    }
    return value;
  }

  void parse_unicode_escape(std::string& out) {
    char32_t value = parse_hex4();
    if (value >= 0xd800 && value < 0xdc00 && take("\\u")) {
      const char32_t low = parse_hex4();
      if (low < 0xdc00 || low > 0xdfff) fail("a surrogate stands alone, which is no text");
      value = 0x10000 + ((value - 0xd800) << 10U) + (low - 0xdc00);
    }
    if (value >= 0xd800 && value < 0xe000) fail("a surrogate stands alone, which is no text");
    append_utf8(value, out);
  }

  std::string parse_string() {
    ++at_;
    std::string out;
    while (true) {
      if (at_ >= text_.size()) fail("the string does not end");
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
      ++at_;
      if (c == '"') return out;
      if (c != '\\') {
        out.push_back(c);
        continue;
      }
      static constexpr std::string_view kEscapes = "\"\\/bfnrt";
      static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      const char escape = peek();
      const std::size_t index = escape == '\0' ? std::string_view::npos : kEscapes.find(escape);
      if (escape == 'u') {
        ++at_;
        parse_unicode_escape(out);
      } else if (index != std::string_view::npos) {
        ++at_;
        out.push_back(kMeanings[index]);
      } else {
        fail("an escape that JSON does not have");
      }
    }
  }

  PyValue parse_list(int depth) {
    PyValue list = PyValue::list();
    ++at_;
    skip_space();
    if (take("]")) return list;
    while (true) {
      skip_space();
      list.items.push_back(parse_value(depth + 1));
      skip_space();
      if (take("]")) return list;
      if (!take(",")) fail("a comma or ] is expected here");
    }
  }

  PyValue parse_dict(int depth) {
    PyValue dict = PyValue::dict();
    std::unordered_map<std::string, std::size_t> index;
    ++at_;
    skip_space();
    if (take("}")) return dict;
    while (true) {
      skip_space();
      if (peek() != '"') fail("a key in quotes is expected here");
      std::string key = parse_string();
      skip_space();
      if (!take(":")) fail("a colon is expected here");
      skip_space();
      put(dict, index, std::move(key), parse_value(depth + 1));
      skip_space();
      if (take("}")) return dict;
      if (!take(",")) fail("a comma or } is expected here");
    }
  }

  // The last value wins, at the place of the first.
  static void put(PyValue& dict, std::unordered_map<std::string, std::size_t>& index,
                  std::string key, PyValue value) {
    auto& members = dict.members;
    std::optional<std::size_t> place;
    if (members.size() < kIndexedFrom) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (members[i].first == key) place = i;
      }
    } else {
      if (index.empty()) {
        for (std::size_t i = 0; i < members.size(); ++i) index.emplace(members[i].first, i);
      }
      const auto [entry, is_new] = index.emplace(key, members.size());
      if (!is_new) place = entry->second;
    }
    if (place) {
      members[*place].second = std::move(value);
    } else {
      members.emplace_back(std::move(key), std::move(value));
    }
  }

  std::string_view text_;
  std::string_view where_;
  const PythonJsonLimits& limits_;
  std::size_t at_ = 0;
};

}  // namespace

PyValue parse_python_json(std::string_view text, std::string_view where,
                          const PythonJsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    throw base::Error(base::ErrorCode::kBadInput, std::string(where),
                      "is larger than " + std::to_string(limits.max_bytes) + " bytes; send less");
  }
  require_utf8(text, where);
  return Parser(text, where, limits).parse();
}

}  // namespace abba::text
