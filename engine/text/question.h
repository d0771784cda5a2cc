// A question as a request gives it, checked and rendered into the texts that the prompt consists
// of. Rules and defaults are those of the original package: its ValueErrors are Errors here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/python_json.h"

namespace abba::text {

// The values are the rows of the type embedding.
enum class QuestionType { kChoice = 0, kScore = 1, kNoul = 2 };

[[nodiscard]] std::string_view name_of(QuestionType type);  // "choice", "score", "noul"

struct Question {
  std::string id;
  QuestionType type = QuestionType::kChoice;
  std::string instructions;          // a string as given, anything else as JSON
  std::vector<std::string> options;  // option texts in the order of the logits; never empty
  // choice: the labels as given (a label may be a number), score: the criteria as given, noul: none
  std::vector<PyValue> labels;
};

// {"type": ..., "instructions": ..., "criteria": ..., "labels": ...}. Throws Error(kBadInput,
// "question \"id\"", ...) for an empty id, an unknown type, missing or empty instructions, criteria
// of the wrong shape, empty or with a null level, a label that is null, no scalar or there twice,
// labels that are not two distinct names, and for option_order, which only the original knows.
Question parse_question(std::string_view id, const PyValue& definition);
// An object of id -> definition, in order.
std::vector<Question> parse_questions(const PyValue& questions);

// A string as given, anything else as json.dumps prints it: states, instructions, descriptions.
[[nodiscard]] std::string rendered(const PyValue& value);

}  // namespace abba::text
