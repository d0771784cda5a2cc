#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.h"
#include "engine/base/json.h"
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
    // What the parser calls its exception says nothing to whoever wrote the text.
    if (reason.starts_with("[json.exception")) reason.erase(0, reason.find("] ") + 2);
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

}  // namespace

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
