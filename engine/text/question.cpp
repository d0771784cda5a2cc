#include "engine/text/question.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/text/unicode.h"

namespace abba::text {
namespace {

constexpr std::string_view kDefaultFalse = "no, the statement does not hold";
constexpr std::string_view kDefaultTrue = "yes, the statement holds";

[[noreturn]] void refuse(const Question& question, const std::string& message) {
  throw base::Error(base::ErrorCode::kBadInput, "question \"" + question.id + "\"", message);
}

// Only null and "" mean that there is no description; 0 and false are descriptions.
bool is_absent(const PyValue* description) {
  return description == nullptr || description->is_none() ||
         (description->is_string() && description->text.empty());
}

// Equal for labels that Python's dict takes for one key: 1, 1.0 and True are one, "1" is another.
std::string key_identity(const PyValue& label) {
  switch (label.kind) {
    case PyValue::Kind::kString:
      return "s" + label.text;
    case PyValue::Kind::kBool:
      return label.boolean ? "n1" : "n0";
    case PyValue::Kind::kInt:
      return "n" + label.text;
    case PyValue::Kind::kFloat: {
      if (!std::isfinite(label.number) || std::trunc(label.number) != label.number) {
        return "f" + python_repr(label.number);
      }
      std::array<char, 400> exact{};  // all digits of a whole double
      std::snprintf(exact.data(), exact.size(), "%.0f", label.number == 0 ? 0.0 : label.number);
      return std::string("n") + exact.data();
    }
    default:
      return "none";
  }
}

// As the original: a label is an option text and an answer key, and null can be neither.
void check_label(const Question& question, const PyValue& label, std::size_t index) {
  if (label.is_list() || label.is_dict() || label.is_none()) {
    refuse(question, "label " + std::to_string(index) + " is " + std::string(label.kind_name()) +
                         "; a label is a string, a number or a boolean");
  }
}

void add_choice(Question& question, const PyValue& label, const PyValue* description) {
  const std::string name = python_str(label);
  question.labels.push_back(label);
  question.options.push_back(is_absent(description) ? name : name + ": " + rendered(*description));
}

void read_choice(Question& question, const PyValue* criteria) {
  if (criteria == nullptr || (!criteria->is_dict() && !criteria->is_list())) {
    refuse(
        question,
        "a choice takes \"criteria\" as an object of label and description or an array of labels");
  }
  for (const auto& [label, description] : criteria->members) {
    add_choice(question, PyValue::of_string(label), &description);
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < criteria->items.size(); ++i) {
    const PyValue& label = criteria->items[i];
    check_label(question, label, i);
    if (!seen.insert(key_identity(label)).second) {
      refuse(question, "label " + std::to_string(i) + " repeats an earlier one (1, 1.0 and true " +
                           "are one key); every option needs its own");
    }
    add_choice(question, label, nullptr);
  }
  if (question.options.empty()) refuse(question, "a choice needs at least one label");
}

void read_score(Question& question, const PyValue* criteria) {
  if (criteria == nullptr || !criteria->is_list()) {
    refuse(question, "a score takes \"criteria\" as an array of level descriptions, level 0 first");
  }
  for (const PyValue& level : criteria->items) {
    const std::string name = "level " + std::to_string(question.options.size());
    if (level.is_none()) refuse(question, name + " is null; describe every level");
    question.options.push_back(name + ": " + rendered(level));
    question.labels.push_back(level);
  }
  if (question.options.empty()) refuse(question, "a score needs at least one level");
}

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

// {false label, true label}.
std::pair<std::string, std::string> noul_labels(const Question& question, const PyValue* labels) {
  if (labels == nullptr || labels->is_none()) return {"false", "true"};
  const PyValue* no = labels->find("false");
  const PyValue* yes = labels->find("true");
  if (labels->members.size() == 2 && no != nullptr && yes != nullptr && no->is_string() &&
      yes->is_string()) {
    std::pair<std::string, std::string> result{strip(no->text), strip(yes->text)};
    if (!result.first.empty() && !result.second.empty() && result.first != result.second) {
      return result;
    }
  }
  refuse(question, "\"labels\" must give \"false\" and \"true\" two distinct names");
}

void read_noul(Question& question, const PyValue* criteria, const PyValue* labels) {
  if (criteria != nullptr && !criteria->is_none() && !criteria->is_dict()) {
    refuse(question, "a noul takes \"criteria\" as an object with \"true\" and \"false\", or none");
  }
  const PyValue* no = nullptr;
  const PyValue* yes = nullptr;
  if (criteria != nullptr) {
    for (const auto& [key, description] : criteria->members) {
      const std::string name = ascii_lower(key);
      if (name != "true" && name != "false") {
        refuse(question,
               "\"criteria\" has the key \"" + key + "\"; a noul has \"true\" and \"false\"");
      }
      (name == "true" ? yes : no) = &description;
    }
  }
  const auto [no_label, yes_label] = noul_labels(question, labels);
  question.options = {
      no_label + ": " + (is_absent(no) ? std::string(kDefaultFalse) : rendered(*no)),
      yes_label + ": " + (is_absent(yes) ? std::string(kDefaultTrue) : rendered(*yes))};
}

void read_instructions(Question& question, const PyValue& definition) {
  const PyValue* instructions = definition.find("instructions");
  if (instructions == nullptr) {
    refuse(question, "has no \"instructions\"; add the text that is to be answered");
  }
  const bool is_empty = instructions->is_none() ||
                        (instructions->is_string() && strip(instructions->text).empty()) ||
                        (instructions->is_list() && instructions->items.empty()) ||
                        (instructions->is_dict() && instructions->members.empty());
  if (is_empty) {
    refuse(question, "its \"instructions\" are empty; add the text that is to be answered");
  }
  question.instructions = rendered(*instructions);
}

QuestionType read_type(const Question& question, const PyValue& definition) {
  const PyValue* type = definition.find("type");
  for (const auto known : {QuestionType::kChoice, QuestionType::kScore, QuestionType::kNoul}) {
    if (type != nullptr && type->is_string() && type->text == name_of(known)) return known;
  }
  refuse(question, "its \"type\" must be one of choice, noul, score");
}

}  // namespace

std::string_view name_of(QuestionType type) {
  static constexpr std::array<std::string_view, 3> kNames = {"choice", "score", "noul"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string rendered(const PyValue& value) {
  return value.is_string() ? value.text : python_dumps(value);
}

Question parse_question(std::string_view id, const PyValue& definition) {
  Question question;
  question.id = id;
  if (strip(question.id).empty()) refuse(question, "needs an id that is not empty");
  if (!definition.is_dict()) {
    refuse(question, "must be an object, not " + std::string(definition.kind_name()));
  }
  question.type = read_type(question, definition);
  read_instructions(question, definition);
  if (definition.find("option_order") != nullptr) {
    refuse(question, "has \"option_order\", which this engine does not know; order the criteria");
  }
  const PyValue* criteria = definition.find("criteria");
  const PyValue* labels = definition.find("labels");
  if (labels != nullptr && question.type != QuestionType::kNoul) {
    refuse(question, "\"labels\" belongs to noul questions only");
  }
  switch (question.type) {
    case QuestionType::kChoice:
      read_choice(question, criteria);
      break;
    case QuestionType::kScore:
      read_score(question, criteria);
      break;
    case QuestionType::kNoul:
      read_noul(question, criteria, labels);
      break;
  }
  return question;
}

std::vector<Question> parse_questions(const PyValue& questions) {
  if (!questions.is_dict()) {
    throw base::Error(
        base::ErrorCode::kBadInput, "questions",
        "must be an object of id and definition, not " + std::string(questions.kind_name()));
  }
  std::vector<Question> result;
  for (const auto& [id, definition] : questions.members) {
    result.push_back(parse_question(id, definition));
  }
  return result;
}

}  // namespace abba::text
