#include "engine/base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace abba::base {
namespace {

// Builds a Json from nlohmann's events and refuses depth and duplicates as they appear.
class Builder {
 public:
  Builder(std::string_view text, std::string_view where, int max_depth)
      : text_(text), where_(where), max_depth_(max_depth) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(std::int64_t value) { return add(Json(value)); }
  bool number_unsigned(std::uint64_t value) { return add(Json(value)); }
  bool number_float(double value, const std::string& raw) {
    if (!std::isfinite(value)) {
      fail("the number " + raw.substr(0, 40) + " is out of range");
    }
    return add(Json(value));
  }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (!levels_.back().keys.insert(name).second) {
      fail("the key \"" + name + "\" appears twice in one object");
    }
    levels_.back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    const std::size_t end = std::min(position, text_.size());
    const std::string_view before = text_.substr(0, end == 0 ? 0 : end - 1);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 == 0
    std::string reason = e.what();
    const std::size_t detail = reason.rfind("; last read");
    reason =
        reason.substr(reason.find(": ") == std::string::npos ? 0 : reason.rfind(": ", detail) + 2);
    fail("is not valid JSON at line " + std::to_string(line) + ", column " +
         std::to_string(end - line_start) + ": " + reason);
  }
  Json take() { return std::move(root_); }

 private:
  struct Level {
    Json value;
    std::string key;             // of the member being read
    std::set<std::string> keys;  // seen so far in this object
  };

  bool add(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
    } else if (Level& top = levels_.back(); top.value.is_object()) {
      top.value.as_object().emplace_back(std::move(top.key), std::move(value));
    } else {
      top.value.push_back(std::move(value));
    }
    return true;
  }
  bool open(Json value) {
    if (static_cast<int>(levels_.size()) >= max_depth_) {
      fail("is nested deeper than " + std::to_string(max_depth_) + " levels");
    }
    levels_.push_back({std::move(value), {}, {}});
    return true;
  }
  bool close() {
    Json value = std::move(levels_.back().value);
    levels_.pop_back();
    return add(std::move(value));
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::kBadInput, std::string(where_), message);
  }

  std::string_view text_;
  std::string_view where_;
  int max_depth_;
  Json root_;
  std::vector<Level> levels_;
};

void print_string(std::string_view text, std::string& out) {
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

[[noreturn]] void wrong_kind(std::string_view key, std::string_view where, std::string_view wanted,
                             const Json& found) {
  throw Error(ErrorCode::kBadInput, std::string(where),
              "\"" + std::string(key) + "\" must be " + std::string(wanted) + ", found " +
                  std::string(found.kind_name()));
}

}  // namespace

Json::Json(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    value_ = static_cast<std::int64_t>(value);
  } else {
    value_ = value;
  }
}

Json Json::object(std::initializer_list<Member> members) {
  return Json(Object(members));
}

bool Json::is_integer() const {
  return is_int() || std::holds_alternative<std::uint64_t>(value_);
}

bool Json::is_number() const {
  return is_integer() || std::holds_alternative<double>(value_);
}

std::string_view Json::kind_name() const {
  static constexpr std::string_view kNames[] = {"null",     "a boolean", "a number", "a number",
                                                "a number", "a string",  "an array", "an object"};
  return kNames[value_.index()];
}

bool Json::as_bool() const {
  ABBA_CHECK(is_bool());
  return std::get<bool>(value_);
}

std::int64_t Json::as_int() const {
  ABBA_CHECK(is_int());
  return std::get<std::int64_t>(value_);
}

std::uint64_t Json::as_uint() const {
  if (is_int()) {
    ABBA_CHECK(as_int() >= 0);
    return static_cast<std::uint64_t>(as_int());
  }
  ABBA_CHECK(is_integer());
  return std::get<std::uint64_t>(value_);
}

double Json::as_double() const {
  ABBA_CHECK(is_number());
  if (is_int()) {
    return static_cast<double>(std::get<std::int64_t>(value_));
  }
  if (is_integer()) {
    return static_cast<double>(std::get<std::uint64_t>(value_));
  }
  return std::get<double>(value_);
}

const std::string& Json::as_string() const {
  ABBA_CHECK(is_string());
  return std::get<std::string>(value_);
}

const Json::Array& Json::as_array() const {
  ABBA_CHECK(is_array());
  return std::get<Array>(value_);
}

Json::Array& Json::as_array() {
  ABBA_CHECK(is_array());
  return std::get<Array>(value_);
}

const Json::Object& Json::as_object() const {
  ABBA_CHECK(is_object());
  return std::get<Object>(value_);
}

Json::Object& Json::as_object() {
  ABBA_CHECK(is_object());
  return std::get<Object>(value_);
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) {
    return nullptr;
  }
  for (const auto& [name, value] : as_object()) {
    if (name == key) {
      return &value;
    }
  }
  return nullptr;
}

Json* Json::find(std::string_view key) {
  return const_cast<Json*>(static_cast<const Json*>(this)->find(key));
}

const Json& Json::at(std::string_view key, std::string_view where) const {
  const Json* member = find(key);
  if (member == nullptr) {
    throw Error(ErrorCode::kBadInput, std::string(where),
                is_object() ? "has no member \"" + std::string(key) + "\""
                            : "must be an object with a member \"" + std::string(key) +
                                  "\", found " + std::string(kind_name()));
  }
  return *member;
}

const std::string& Json::get_string(std::string_view key, std::string_view where) const {
  const Json& member = at(key, where);
  if (!member.is_string()) {
    wrong_kind(key, where, "a string", member);
  }
  return member.as_string();
}

std::int64_t Json::get_int(std::string_view key, std::string_view where) const {
  const Json& member = at(key, where);
  if (!member.is_int()) {
    wrong_kind(key, where, "an integer", member);
  }
  return member.as_int();
}

double Json::get_double(std::string_view key, std::string_view where) const {
  const Json& member = at(key, where);
  if (!member.is_number()) {
    wrong_kind(key, where, "a number", member);
  }
  return member.as_double();
}

bool Json::get_bool(std::string_view key, std::string_view where) const {
  const Json& member = at(key, where);
  if (!member.is_bool()) {
    wrong_kind(key, where, "true or false", member);
  }
  return member.as_bool();
}

const Json::Array& Json::get_array(std::string_view key, std::string_view where) const {
  const Json& member = at(key, where);
  if (!member.is_array()) {
    wrong_kind(key, where, "an array", member);
  }
  return member.as_array();
}

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) {
    value_ = Object{};
  }
  if (Json* member = find(key); member != nullptr) {
    *member = std::move(value);
    return *member;
  }
  return as_object().emplace_back(std::string(key), std::move(value)).second;
}

void Json::push_back(Json value) {
  if (is_null()) {
    value_ = Array{};
  }
  as_array().push_back(std::move(value));
}

bool Json::erase(std::string_view key) {
  Object& members = as_object();
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.first == key; });
  if (found == members.end()) {
    return false;
  }
  members.erase(found);
  return true;
}

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

Json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    throw Error(ErrorCode::kBadInput, std::string(where),
                "is larger than " + std::to_string(limits.max_bytes) + " bytes");
  }
  Builder builder(text, where, limits.max_depth);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder,
                            nlohmann::json::input_format_t::json, true, limits.allow_comments);
  return builder.take();
}

Json parse_json_file(const std::string& path, const JsonLimits& limits) {
  return parse_json(read_file(path, limits.max_bytes), path, limits);
}

}  // namespace abba::base
