// Private to the parse_* functions: reads members of an answer, refusing with the worker's name and
// the rule of conformance_rules.h that the answer breaks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json.h"
#include "harness/workers/messages.h"

namespace abba::workers {

class AnswerReader {
 public:
  // Borrows all but `what`.
  AnswerReader(const base::Json& json, const std::string& worker, std::string what,
               std::string_view rule)
      : json_(json), worker_(worker), what_(std::move(what)), rule_(rule) {}

  // The same answer, judged by another rule.
  [[nodiscard]] AnswerReader under(std::string_view rule) const {
    return {json_, worker_, what_, rule};
  }
  [[noreturn]] void refuse(const std::string& problem) const;
  void require(bool holds, const std::string& problem) const {
    if (!holds) refuse(problem);
  }

  [[nodiscard]] const base::Json& member(std::string_view key) const;
  [[nodiscard]] AnswerReader object(std::string_view key) const;
  // At most 200 bytes and without control characters, since it will be printed.
  [[nodiscard]] std::string name(std::string_view key) const;
  [[nodiscard]] std::string name_or_empty(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> names(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t low,
                                     std::int64_t high) const;
  [[nodiscard]] double number(std::string_view key) const;
  [[nodiscard]] bool boolean_or(std::string_view key, bool fallback) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key, std::int64_t low,
                                                   std::int64_t high) const;
  [[nodiscard]] const base::Json& json_or_null(std::string_view key) const;
  // Each element of an array of objects.
  void each(std::string_view key, const std::function<void(const AnswerReader&)>& take) const;
  [[nodiscard]] std::string checked_name(const base::Json& value, const std::string& key) const;

 private:
  const base::Json& json_;
  const std::string& worker_;
  std::string what_;
  std::string_view rule_;
};

}  // namespace abba::workers
