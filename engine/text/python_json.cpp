#include "engine/text/python_json.h"

#include <charconv>
#include <cmath>

#include "engine/base/error.h"

namespace abba::text {
namespace {

void dump_string(std::string_view text, std::string& out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out.push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
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
          out += "\\u00";
          out.push_back(kDigits[byte >> 4U]);
          out.push_back(kDigits[byte & 15U]);
        } else {
          out.push_back(c);
        }
    }
  }
  out.push_back('"');
}

class Printer {
 public:
  explicit Printer(bool compact)
      : item_separator_(compact ? "," : ", "), key_separator_(compact ? ":" : ": ") {}

  void dump(const PyValue& value, std::string& out) const {
    switch (value.kind) {
      case PyValue::Kind::kString:
        dump_string(value.text, out);
        break;
      case PyValue::Kind::kList:
        dump_list(value, out);
        break;
      case PyValue::Kind::kDict:
        dump_dict(value, out);
        break;
      default:
        out += python_key(value);
    }
  }

 private:
  void dump_list(const PyValue& value, std::string& out) const {
    std::string_view separator = "[";
    for (const PyValue& item : value.items) {
      out += separator;
      dump(item, out);
      separator = item_separator_;
    }
    out += value.items.empty() ? "[]" : "]";
  }
  void dump_dict(const PyValue& value, std::string& out) const {
    std::string_view separator = "{";
    for (const auto& [key, member] : value.members) {
      out += separator;
      dump_string(key, out);
      out += key_separator_;
      dump(member, out);
      separator = item_separator_;
    }
    out += value.members.empty() ? "{}" : "}";
  }

  std::string_view item_separator_;
  std::string_view key_separator_;
};

PyValue of_kind(PyValue::Kind kind) {
  PyValue result;
  result.kind = kind;
  return result;
}

}  // namespace

PyValue PyValue::of_string(std::string_view value) {
  PyValue result = of_kind(Kind::kString);
  result.text = value;
  return result;
}

PyValue PyValue::of_int(long long value) {
  PyValue result = of_kind(Kind::kInt);
  result.text = std::to_string(value);
  return result;
}

PyValue PyValue::of_float(double value) {
  PyValue result = of_kind(Kind::kFloat);
  result.number = value;
  return result;
}

PyValue PyValue::of_bool(bool value) {
  PyValue result = of_kind(Kind::kBool);
  result.boolean = value;
  return result;
}

PyValue PyValue::list() {
  return of_kind(Kind::kList);
}

PyValue PyValue::dict() {
  return of_kind(Kind::kDict);
}

const PyValue* PyValue::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

void PyValue::add(std::string_view key, PyValue value) {
  members.emplace_back(std::string(key), std::move(value));
}

std::string_view PyValue::kind_name() const {
  switch (kind) {
    case Kind::kNone:
      return "null";
    case Kind::kBool:
      return "a boolean";
    case Kind::kInt:
    case Kind::kFloat:
      return "a number";
    case Kind::kString:
      return "a string";
    case Kind::kList:
      return "an array";
    case Kind::kDict:
      return "an object";
  }
  return "";
}

PyValue from_json(const base::Json& value) {
  if (value.is_bool()) return PyValue::of_bool(value.as_bool());
  if (value.is_string()) return PyValue::of_string(value.as_string());
  if (value.is_integer()) {
    PyValue result = of_kind(PyValue::Kind::kInt);
    result.text = value.is_int() ? std::to_string(value.as_int()) : std::to_string(value.as_uint());
    return result;
  }
  if (value.is_number()) return PyValue::of_float(value.as_double());
  if (value.is_array()) {
    PyValue result = PyValue::list();
    for (const base::Json& item : value.as_array()) result.items.push_back(from_json(item));
    return result;
  }
  if (value.is_object()) {
    PyValue result = PyValue::dict();
    for (const auto& [key, member] : value.as_object()) result.add(key, from_json(member));
    return result;
  }
  return {};
}

std::string python_dumps(const PyValue& value, bool compact) {
  std::string out;
  Printer(compact).dump(value, out);
  return out;
}

std::string python_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto result =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(result.ptr - buffer));
  const std::size_t mark = text.find('e');
  std::string digits;
  for (const char c : text.substr(0, mark)) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  int exponent = std::stoi(std::string(text.substr(mark + 1)));
  std::string out = std::signbit(value) ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "");
    const std::string size = std::to_string(std::abs(exponent));
    return out + (exponent < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
  }
  for (; exponent < 0; ++exponent) digits.insert(0, "0");
  const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  const std::string fraction = digits.substr(whole);
  return out + digits.substr(0, whole) + "." + (fraction.empty() ? "0" : fraction);
}

std::string python_str(const PyValue& value) {
  switch (value.kind) {
    case PyValue::Kind::kNone:
      return "None";
    case PyValue::Kind::kBool:
      return value.boolean ? "True" : "False";
    case PyValue::Kind::kFloat:
      return python_repr(value.number);
    default:
      ABBA_CHECK(!value.is_list() && !value.is_dict());
      return value.text;
  }
}

std::string python_key(const PyValue& value) {
  switch (value.kind) {
    case PyValue::Kind::kNone:
      return "null";
    case PyValue::Kind::kBool:
      return value.boolean ? "true" : "false";
    case PyValue::Kind::kFloat:
      if (std::isnan(value.number)) return "NaN";
      if (std::isinf(value.number)) return value.number < 0 ? "-Infinity" : "Infinity";
      return python_repr(value.number);
    default:
      ABBA_CHECK(!value.is_list() && !value.is_dict());
      return value.text;
  }
}

}  // namespace abba::text
