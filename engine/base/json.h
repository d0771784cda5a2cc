// A JSON value, a strict parser for untrusted text, and three printers. nlohmann/json stays inside
// json_parse.cpp (through its SAX interface), so no other file pays for its compile time or meets
// its traps: depth, size and duplicate keys are checked while parsing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace abba::base {

// Objects keep their insertion order; copies are deep. Integers keep their exact value: an integer
// that fits int64_t is held as such, otherwise as uint64_t, otherwise (and for any fraction) as
// double.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(std::int64_t value) : value_(value) {}
  Json(std::uint64_t value);
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  static Json array() { return Json(Array{}); }
  static Json object(std::initializer_list<Member> members = {});

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] bool is_bool() const { return std::holds_alternative<bool>(value_); }
  [[nodiscard]] bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  [[nodiscard]] bool is_integer() const;  // int64_t or uint64_t
  [[nodiscard]] bool is_number() const;
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(value_); }
  [[nodiscard]] bool is_array() const { return std::holds_alternative<Array>(value_); }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Object>(value_); }
  // "null", "a boolean", "a number", "a string", "an array", "an object": for messages.
  [[nodiscard]] std::string_view kind_name() const;

  // Each requires the kind (ABBA_CHECK); ask first, or use the get_* readers below for untrusted
  // data.
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] std::int64_t as_int() const;
  [[nodiscard]] std::uint64_t as_uint() const;  // any integer that is not negative
  [[nodiscard]] double as_double() const;       // any number
  [[nodiscard]] const std::string& as_string() const;
  [[nodiscard]] const Array& as_array() const;
  [[nodiscard]] Array& as_array();
  [[nodiscard]] const Object& as_object() const;
  [[nodiscard]] Object& as_object();

  // The member named `key`, or nullptr (also when this is no object).
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] Json* find(std::string_view key);
  // The member named `key`; throws Error(kBadInput, where, "has no member ...") if there is none.
  [[nodiscard]] const Json& at(std::string_view key, std::string_view where = "") const;
  // Readers for data from outside: member `key` of the wanted kind, else Error(kBadInput, where,
  // ...) that says what was found and what would be accepted.
  [[nodiscard]] const std::string& get_string(std::string_view key, std::string_view where) const;
  [[nodiscard]] std::int64_t get_int(std::string_view key, std::string_view where) const;
  [[nodiscard]] double get_double(std::string_view key, std::string_view where) const;
  [[nodiscard]] bool get_bool(std::string_view key, std::string_view where) const;
  [[nodiscard]] const Array& get_array(std::string_view key, std::string_view where) const;

  // The member's text; empty where there is none, or none of that kind.
  [[nodiscard]] std::string text_or_empty(std::string_view key) const;

  // Replaces or appends member `key`; null becomes an object first. Returns the stored value.
  Json& set(std::string_view key, Json value);
  void push_back(Json value);  // null becomes an array first
  bool erase(std::string_view key);

  // Compact, members in insertion order; the form of protocol lines (no raw newline in it).
  [[nodiscard]] std::string dump() const;
  // Two spaces of indentation, members in insertion order, newline at the end: for files people
  // read.
  [[nodiscard]] std::string dump_pretty() const;
  // Compact, members sorted by key bytes at every level, numbers in their shortest round-trip form
  // (an integral double below 2^53 as an integer): equal values give equal bytes. What digests are
  // made of.
  [[nodiscard]] std::string canonical() const;

  friend bool operator==(const Json& a, const Json& b) { return a.canonical() == b.canonical(); }

 private:
  explicit Json(Object value) : value_(std::move(value)) {}
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

struct JsonLimits {
  std::size_t max_bytes = 64U << 20U;
  int max_depth = 64;
  bool allow_comments = false;  // `//` and `/* */`
};

// Parses one JSON text (RFC 8259, UTF-8). Throws Error(kBadInput, where, ...) with line and column
// on any violation, duplicate keys included.
Json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits = {});

// Reads and parses a file; the file's name is the `where`. A file that cannot be read is kBadInput
// too.
Json parse_json_file(const std::string& path, const JsonLimits& limits = {});

}  // namespace abba::base
