// JSON values as Python's json module reads and prints them: what a prompt contains of a state that
// is no string. Integers keep their digits, a repeated key keeps its first place and its last
// value, NaN and Infinity are read and printed. base::Json stays the type for files of our own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/json.h"

namespace abba::text {

struct PyValue {
  enum class Kind { kNone, kBool, kInt, kFloat, kString, kList, kDict };

  Kind kind = Kind::kNone;
  bool boolean = false;
  double number = 0;
  std::string text;  // of a string, or the digits of an integer
  std::vector<PyValue> items;
  std::vector<std::pair<std::string, PyValue>> members;  // keys are distinct

  static PyValue of_string(std::string_view value);
  static PyValue of_int(long long value);
  static PyValue of_float(double value);
  static PyValue of_bool(bool value);
  static PyValue list();
  static PyValue dict();

  [[nodiscard]] bool is_none() const { return kind == Kind::kNone; }
  [[nodiscard]] bool is_string() const { return kind == Kind::kString; }
  [[nodiscard]] bool is_list() const { return kind == Kind::kList; }
  [[nodiscard]] bool is_dict() const { return kind == Kind::kDict; }
  // The member `key` of a dict, or nullptr (also when this is no dict).
  [[nodiscard]] const PyValue* find(std::string_view key) const;
  // Appends; the caller sees to it that keys stay distinct.
  void add(std::string_view key, PyValue value);
  // "null", "a boolean", "a number", ... for messages.
  [[nodiscard]] std::string_view kind_name() const;
};

struct PythonJsonLimits {
  std::size_t max_bytes = 64U << 20U;
  int max_depth = 200;  // Python gives up near 1000
};

// json.loads. Throws Error(kBadInput, where, ...) with the byte offset; refuses what Python refuses
// (an integer of more than 4300 digits included), invalid UTF-8, lone surrogates, and the limits.
PyValue parse_python_json(std::string_view text, std::string_view where,
                          const PythonJsonLimits& limits = {});
PyValue from_json(const base::Json& value);

// json.dumps(value, ensure_ascii=False): separators ", " and ": ", or "," and ":" if `compact`.
[[nodiscard]] std::string python_dumps(const PyValue& value, bool compact = false);
// str(value) of a scalar: "None", "True", "1.5", the text of a string. Precondition: a scalar.
[[nodiscard]] std::string python_str(const PyValue& value);
// What json.dumps makes of a scalar used as a key: "null", "true", "1.5", the text of a string.
[[nodiscard]] std::string python_key(const PyValue& value);
// len(str(value)) in code points, of any value: what a limit on a state's size counts.
[[nodiscard]] std::size_t python_str_length(const PyValue& value);
// repr of a float: the shortest digits that round-trip, fixed for -4 <= exponent < 16.
[[nodiscard]] std::string python_repr(double value);

}  // namespace abba::text
