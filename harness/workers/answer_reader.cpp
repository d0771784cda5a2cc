#include "harness/workers/answer_reader.h"

#include <algorithm>

namespace abba::workers {

using base::Json;

void AnswerReader::refuse(const std::string& problem) const {
  throw ProtocolBreach(rule_, worker_,
                       "broke the protocol in its answer to " + what_ + ": " + problem);
}

const Json& AnswerReader::member(std::string_view key) const {
  const Json* value = json_.find(key);
  if (value == nullptr) refuse("\"" + std::string(key) + "\" is missing");
  return *value;
}

AnswerReader AnswerReader::object(std::string_view key) const {
  const Json& value = member(key);
  require(value.is_object(), "\"" + std::string(key) + "\" is no object");
  return {value, worker_, what_ + " (" + std::string(key) + ")", rule_};
}

std::string AnswerReader::checked_name(const Json& value, const std::string& key) const {
  require(value.is_string(), "\"" + key + "\" holds " + std::string(value.kind_name()) +
                                 " where a string was expected");
  const std::string& text = value.as_string();
  require(text.size() <= 200, "\"" + key + "\" is longer than 200 bytes");
  const bool printable = std::none_of(text.begin(), text.end(), [](unsigned char character) {
    return character < 0x20 || character == 0x7f;
  });
  require(printable, "\"" + key + "\" has control characters in it");
  return text;
}

std::string AnswerReader::name(std::string_view key) const {
  const std::string text = checked_name(member(key), std::string(key));
  require(!text.empty(), "\"" + std::string(key) + "\" is empty");
  return text;
}

std::string AnswerReader::name_or_empty(std::string_view key) const {
  const Json* value = json_.find(key);
  return value == nullptr ? "" : checked_name(*value, std::string(key));
}

std::vector<std::string> AnswerReader::names(std::string_view key) const {
  const Json& array = member(key);
  require(array.is_array(), "\"" + std::string(key) + "\" is no array");
  std::vector<std::string> result;
  for (const Json& item : array.as_array()) result.push_back(checked_name(item, std::string(key)));
  return result;
}

std::int64_t AnswerReader::integer(std::string_view key, std::int64_t low,
                                   std::int64_t high) const {
  const Json& value = member(key);
  const std::string range =
      " is no integer from " + std::to_string(low) + " to " + std::to_string(high);
  require(value.is_int() && value.as_int() >= low && value.as_int() <= high,
          "\"" + std::string(key) + "\"" + range);
  return value.as_int();
}

double AnswerReader::number(std::string_view key) const {
  const Json& value = member(key);
  require(value.is_number(), "\"" + std::string(key) + "\" is no number");
  return value.as_double();
}

bool AnswerReader::boolean_or(std::string_view key, bool fallback) const {
  const Json* value = json_.find(key);
  if (value == nullptr) return fallback;
  require(value->is_bool(), "\"" + std::string(key) + "\" is no boolean");
  return value->as_bool();
}

std::vector<std::int64_t> AnswerReader::integers(std::string_view key, std::int64_t low,
                                                 std::int64_t high) const {
  const Json& array = member(key);
  require(array.is_array(), "\"" + std::string(key) + "\" is no array");
  std::vector<std::int64_t> result;
  result.reserve(array.as_array().size());
  for (const Json& value : array.as_array()) {
    if (!value.is_int() || value.as_int() < low || value.as_int() > high) {
      refuse("\"" + std::string(key) + "\" holds " + value.dump().substr(0, 40) +
             " where an integer from " + std::to_string(low) + " to " + std::to_string(high) +
             " was expected");
    }
    result.push_back(value.as_int());
  }
  return result;
}

const Json& AnswerReader::json_or_null(std::string_view key) const {
  static const Json kNull;
  const Json* value = json_.find(key);
  return value == nullptr ? kNull : *value;
}

void AnswerReader::each(std::string_view key,
                        const std::function<void(const AnswerReader&)>& take) const {
  const Json& array = member(key);
  require(array.is_array(), "\"" + std::string(key) + "\" is no array");
  for (const Json& item : array.as_array()) {
    require(item.is_object(), "\"" + std::string(key) + "\" holds something that is no object");
    take({item, worker_, what_ + " (" + std::string(key) + ")", rule_});
  }
}

}  // namespace abba::workers
