// One JSON object of a manifest while it is read: takes members by kind and range, and files a
// Mistake for everything that is not acceptable instead of stopping. A member that is absent or
// wrong leaves its target as it was, so defaults stand.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json.h"
#include "harness/manifest/keys.h"
#include "harness/manifest/parse.h"
#include "harness/record/names.h"

namespace abba::manifest {

using Mistakes = std::vector<Mistake>;

// A JSON value for a message, cut to about 60 characters.
std::string shown(const base::Json& value);
// One step further down a JSON pointer, "~" and "/" escaped.
std::string below(const std::string& pointer, std::string_view key);
std::string below(const std::string& pointer, std::size_t index);

enum class TextRule {
  kId,     // [a-z0-9_-]{1,64}
  kName,   // [A-Za-z0-9_.:+-]{1,64}
  kLine,   // 1 to 400 characters, no control characters
  kProse,  // 1 to 20000 characters
};

class Section {
 public:
  // Files a mistake if `value` is no object, for each unknown key and each required key missing.
  Section(const base::Json* value, std::string pointer, std::string_view section,
          Mistakes& mistakes);

  [[nodiscard]] bool is_object() const { return value_ != nullptr; }
  [[nodiscard]] const base::Json* find(std::string_view key) const;
  [[nodiscard]] std::string at(std::string_view key) const { return below(pointer_, key); }
  [[nodiscard]] Mistakes& mistakes() const { return *mistakes_; }
  void mistake(std::string_view key, std::string_view code, const std::string& found,
               const std::string& accepted) const;

  void text(std::string_view key, TextRule rule, std::string& target) const;
  void texts(std::string_view key, TextRule rule, std::vector<std::string>& target) const;
  void command(std::string_view key, std::vector<std::string>& target) const;
  void flag(std::string_view key, bool& target) const;
  void number(std::string_view key, double low, double high, double& target) const;
  void whole(std::string_view key, std::int64_t low, std::int64_t high, std::int64_t& target) const;
  void whole(std::string_view key, std::int64_t low, std::int64_t high, int& target) const;
  void factor_levels(std::string_view key, std::map<std::string, std::string>& target) const;
  // Object with free keys, kept as it is.
  void free_object(std::string_view key, base::Json& target) const;

  template <typename Enum>
  void choice(std::string_view key, Enum& target) const {
    std::vector<std::string_view> names;
    for (int i = 0; !record::name(static_cast<Enum>(i)).empty(); ++i) {
      names.push_back(record::name(static_cast<Enum>(i)));
    }
    const std::string* word = choice_word(key, names);
    if (word != nullptr) target = *record::parse_name<Enum>(*word);
  }
  // The member if it is one of `names`, else nullptr and, if present, a mistake.
  const std::string* choice_word(std::string_view key,
                                 const std::vector<std::string_view>& names) const;

 private:
  const base::Json* value_ = nullptr;
  std::string pointer_;
  Mistakes* mistakes_;
};

// Whether `text` obeys the rule; `accepted` says it in words.
bool obeys(TextRule rule, std::string_view text);
std::string accepted(TextRule rule);
// True and sets `result` for an integer, or a double that is one.
bool whole_number(const base::Json& value, std::int64_t& result);
bool is_sha256(std::string_view text);

}  // namespace abba::manifest
