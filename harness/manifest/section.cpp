#include "harness/manifest/section.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace abba::manifest {
namespace {

bool of_characters(std::string_view text, std::string_view extra, bool upper) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (upper && c >= 'A' && c <= 'Z') ||
           extra.find(c) != std::string_view::npos;
  });
}

std::string trimmed_number(double value) {
  base::Json json(value);
  return json.canonical();
}

}  // namespace

std::string shown(const base::Json& value) {
  std::string text = value.dump();
  constexpr std::size_t kMost = 60;
  if (text.size() > kMost) {
    std::size_t cut = kMost - 3;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0U) == 0x80U) --cut;
    text = text.substr(0, cut) + "...";
  }
  return text;
}

std::string below(const std::string& pointer, std::string_view key) {
  std::string result = pointer + "/";
  for (const char c : key) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

std::string below(const std::string& pointer, std::size_t index) {
  return pointer + "/" + std::to_string(index);
}

bool obeys(TextRule rule, std::string_view text) {
  if (text.empty()) return false;
  switch (rule) {
    case TextRule::kId:
      return text.size() <= 64 && of_characters(text, "_-", false);
    case TextRule::kName:
      return text.size() <= 64 && of_characters(text, "_.:+-", true);
    case TextRule::kLine:
      return text.size() <= 400 && std::none_of(text.begin(), text.end(), [](char c) {
               return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
             });
    case TextRule::kProse:
      return text.size() <= 20000;
  }
  return false;
}

std::string accepted(TextRule rule) {
  switch (rule) {
    case TextRule::kId:
      return "1 to 64 of a-z, 0-9, _ and -";
    case TextRule::kName:
      return "1 to 64 of letters, digits, _ . : + and -";
    case TextRule::kLine:
      return "one line of 1 to 400 characters";
    case TextRule::kProse:
      return "a text of 1 to 20000 characters";
  }
  return {};
}

bool whole_number(const base::Json& value, std::int64_t& result) {
  if (value.is_int()) {
    result = value.as_int();
    return true;
  }
  if (!value.is_number() || value.is_integer()) return false;
  const double number = value.as_double();
  if (!(std::fabs(number) < 0x1p53) || number != std::floor(number)) return false;
  result = static_cast<std::int64_t>(number);
  return true;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Section::Section(const base::Json* value, std::string pointer, std::string_view section,
                 Mistakes& mistakes)
    : pointer_(std::move(pointer)), mistakes_(&mistakes) {
  if (value == nullptr) return;
  if (!value->is_object()) {
    mistakes.push_back({pointer_, "wrong-type", shown(*value), "an object"});
    return;
  }
  value_ = value;
  const SectionKeys& known = section_keys(section);
  for (const auto& [key, member] : value->as_object()) {
    if (std::find(known.keys.begin(), known.keys.end(), key) == known.keys.end()) {
      mistakes.push_back({at(key), "unknown-key", "unknown key \"" + key + "\"",
                          "key " + one_of(key, known.keys)});
    }
  }
  for (const std::string_view key : known.required) {
    if (value->find(key) == nullptr) {
      mistakes.push_back(
          {at(key), "missing", "nothing", "\"" + std::string(key) + "\" is required"});
    }
  }
}

const base::Json* Section::find(std::string_view key) const {
  return value_ == nullptr ? nullptr : value_->find(key);
}

void Section::mistake(std::string_view key, std::string_view code, const std::string& found,
                      const std::string& accepted) const {
  mistakes_->push_back({at(key), std::string(code), found, accepted});
}

void Section::text(std::string_view key, TextRule rule, std::string& target) const {
  const base::Json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_string()) {
    mistake(key, "wrong-type", shown(*value), accepted(rule));
  } else if (!obeys(rule, value->as_string())) {
    mistake(key, "bad-value", shown(*value), accepted(rule));
  } else {
    target = value->as_string();
  }
}

void Section::texts(std::string_view key, TextRule rule, std::vector<std::string>& target) const {
  const base::Json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_array() || value->as_array().size() > 1000) {
    mistake(key, "wrong-type", shown(*value), "an array of at most 1000 texts");
    return;
  }
  std::vector<std::string> result;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < value->as_array().size(); ++i) {
    const base::Json& item = value->as_array()[i];
    const std::string pointer = below(at(key), i);
    if (!item.is_string() || !obeys(rule, item.as_string())) {
      mistakes_->push_back(
          {pointer, item.is_string() ? "bad-value" : "wrong-type", shown(item), accepted(rule)});
    } else if (!seen.insert(item.as_string()).second) {
      mistakes_->push_back({pointer, "duplicate", shown(item), "each name once"});
    } else {
      result.push_back(item.as_string());
    }
  }
  target = std::move(result);
}

void Section::command(std::string_view key, std::vector<std::string>& target) const {
  const base::Json* value = find(key);
  if (value == nullptr) return;
  const std::string wanted = "a command as an array of 1 to 256 words, [\"program\", \"argument\"]";
  if (!value->is_array() || value->as_array().empty() || value->as_array().size() > 256) {
    mistake(key, value->is_array() ? "out-of-range" : "wrong-type", shown(*value), wanted);
    return;
  }
  std::vector<std::string> words;
  for (const base::Json& word : value->as_array()) {
    const bool usable = word.is_string() && word.as_string().find('\0') == std::string::npos &&
                        (!words.empty() || !word.as_string().empty());
    if (!usable) {
      mistakes_->push_back({below(at(key), words.size()), "wrong-type", shown(word), wanted});
      return;
    }
    words.push_back(word.as_string());
  }
  target = std::move(words);
}

void Section::flag(std::string_view key, bool& target) const {
  const base::Json* value = find(key);
  if (value == nullptr) return;
  if (value->is_bool()) {
    target = value->as_bool();
  } else {
    mistake(key, "wrong-type", shown(*value), "true or false");
  }
}

void Section::number(std::string_view key, double low, double high, double& target) const {
  const base::Json* value = find(key);
  if (value == nullptr) return;
  const std::string wanted = "a number from " + trimmed_number(low) + " to " + trimmed_number(high);
  if (!value->is_number()) {
    mistake(key, "wrong-type", shown(*value), wanted);
  } else if (!(value->as_double() >= low && value->as_double() <= high)) {
    mistake(key, "out-of-range", shown(*value), wanted);
  } else {
    target = value->as_double();
  }
}

void Section::whole(std::string_view key, std::int64_t low, std::int64_t high,
                    std::int64_t& target) const {
  const base::Json* value = find(key);
  if (value == nullptr) return;
  std::int64_t number = 0;
  const std::string wanted =
      "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
  if (!value->is_number()) {
    mistake(key, "wrong-type", shown(*value), wanted);
  } else if (!whole_number(*value, number) || number < low || number > high) {
    mistake(key, "out-of-range", shown(*value), wanted);
  } else {
    target = number;
  }
}

void Section::whole(std::string_view key, std::int64_t low, std::int64_t high, int& target) const {
  std::int64_t number = target;
  whole(key, low, high, number);
  target = static_cast<int>(number);
}

void Section::factor_levels(std::string_view key,
                            std::map<std::string, std::string>& target) const {
  const base::Json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_object()) {
    mistake(key, "wrong-type", shown(*value), "an object {factor: level}");
    return;
  }
  for (const auto& [factor, level] : value->as_object()) {
    const std::string pointer = below(at(key), factor);
    if (!obeys(TextRule::kName, factor)) {
      mistakes_->push_back({pointer, "bad-value", "\"" + factor + "\"", accepted(TextRule::kName)});
    } else if (!level.is_string() || !obeys(TextRule::kName, level.as_string())) {
      mistakes_->push_back({pointer, level.is_string() ? "bad-value" : "wrong-type", shown(level),
                            "a level: " + accepted(TextRule::kName)});
    } else {
      target[factor] = level.as_string();
    }
  }
}

void Section::free_object(std::string_view key, base::Json& target) const {
  const base::Json* value = find(key);
  if (value == nullptr) return;
  if (value->is_object()) {
    target = *value;
  } else {
    mistake(key, "wrong-type", shown(*value), "an object");
  }
}

const std::string* Section::choice_word(std::string_view key,
                                        const std::vector<std::string_view>& names) const {
  const base::Json* value = find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_string()) {
    mistake(key, "wrong-type", shown(*value), one_of("", names));
    return nullptr;
  }
  const std::string& word = value->as_string();
  if (std::find(names.begin(), names.end(), word) != names.end()) return &word;
  mistake(key, "bad-value", shown(*value), one_of(word, names));
  return nullptr;
}

}  // namespace abba::manifest
