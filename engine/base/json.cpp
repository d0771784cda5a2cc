#include "engine/base/json.h"

#include <algorithm>
#include <limits>

#include "engine/base/error.h"

namespace abba::base {
namespace {

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

std::string Json::text_or_empty(std::string_view key) const {
  const Json* member = find(key);
  return member != nullptr && member->is_string() ? member->as_string() : std::string();
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

}  // namespace abba::base
