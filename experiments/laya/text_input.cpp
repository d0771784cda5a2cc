// From flags to a loaded model, a state and questions: what decide, tokenize and serve share.
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "experiments/laya/engine_backend.h"
#include "experiments/laya/text_commands.h"

namespace abba::laya {
namespace {

using base::Error;
using base::ErrorCode;
using text::PyValue;

constexpr std::size_t kMostStateBytes = std::size_t{64} << 20U;

std::string read_stdin() {
  std::string bytes;
  char part[65536];
  while (const std::size_t size = std::fread(part, 1, sizeof part, stdin)) {
    bytes.append(part, size);
    if (bytes.size() > kMostStateBytes) {
      throw Error(ErrorCode::kBadInput, "standard input", "has more than 64 MiB; send less");
    }
  }
  if (std::ferror(stdin) != 0) {
    throw Error(ErrorCode::kBadInput, "standard input", "cannot be read");
  }
  return bytes;
}

// "Which team? | billing: invoices | technical" in its parts, white space at their ends removed.
std::vector<std::string> parts_of(const std::string& short_form, const char* flag,
                                  std::size_t least) {
  std::vector<std::string> parts;
  for (const std::string& part : base::split(short_form, '|')) {
    parts.emplace_back(base::trim(part));
  }
  if (parts.size() < least + 1 || parts.front().empty()) {
    throw Error(ErrorCode::kBadInput, std::string(flag) + " \"" + short_form + "\"",
                least == 0 ? "needs a question"
                           : "needs a question and at least one option, separated by |");
  }
  return parts;
}

PyValue definition_of(const char* type, const std::string& instructions) {
  PyValue definition = PyValue::dict();
  definition.add("type", PyValue::of_string(type));
  definition.add("instructions", PyValue::of_string(instructions));
  return definition;
}

PyValue choice_of(const std::string& short_form) {
  const std::vector<std::string> parts = parts_of(short_form, "--choice", 1);
  PyValue criteria = PyValue::dict();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t colon = parts[i].find(": ");
    const std::string label = parts[i].substr(0, colon);
    if (criteria.find(label) != nullptr) {
      throw Error(ErrorCode::kBadInput, "--choice", "has the label \"" + label + "\" twice");
    }
    criteria.add(label, colon == std::string::npos
                            ? PyValue{}
                            : PyValue::of_string(base::trim(parts[i].substr(colon + 2))));
  }
  PyValue definition = definition_of("choice", parts.front());
  definition.add("criteria", std::move(criteria));
  return definition;
}

PyValue score_of(const std::string& short_form) {
  const std::vector<std::string> parts = parts_of(short_form, "--score", 1);
  PyValue criteria = PyValue::list();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    criteria.items.push_back(PyValue::of_string(parts[i]));
  }
  PyValue definition = definition_of("score", parts.front());
  definition.add("criteria", std::move(criteria));
  return definition;
}

PyValue noul_of(const std::string& short_form) {
  return definition_of("noul", parts_of(short_form, "--noul", 0).front());
}

// Appends under `name`, or under name_2, name_3 ... where that is taken.
void add_question(PyValue& questions, const std::string& name, PyValue definition) {
  std::string id = name;
  for (int number = 2; questions.find(id) != nullptr; ++number) {
    id = name + "_" + std::to_string(number);
  }
  questions.add(id, std::move(definition));
}

}  // namespace

std::unique_ptr<runtime::LoadedModel> load_model(const ModelOptions& options) {
  const bool automatic = options.precision == "auto";
  const std::string precision =
      automatic ? (options.backend == "cpu" ? "fp32" : "bf16") : options.precision;
  const base::Json settings = base::Json::object(
      {{"backend", options.backend}, {"precision", precision}, {"threads", options.threads}});
  runtime::LanguageTemperatures by_language;
  if (!options.language_temperatures.empty()) {
    by_language = runtime::read_language_temperatures(
        base::parse_json_file(options.language_temperatures), options.language_temperatures);
  }
  return std::make_unique<runtime::LoadedModel>(
      options.checkpoint, make_backend(read_settings(settings, {})), std::move(by_language));
}

PyValue read_state(const StateOptions& options) {
  if (options.text.has_value() == !options.file.empty()) {
    throw Error(ErrorCode::kBadInput, "state",
                "give it either as an argument or with --state-file (- is standard input)");
  }
  std::string bytes;
  std::string where = "state";
  if (options.text) {
    bytes = *options.text;
  } else if (options.file == "-") {
    bytes = read_stdin();
  } else {
    where = options.file;
    bytes = base::read_file(options.file, kMostStateBytes);
  }
  return options.is_json ? text::parse_python_json(bytes, where) : PyValue::of_string(bytes);
}

PyValue read_questions(const QuestionOptions& options) {
  PyValue questions = PyValue::dict();
  if (!options.file.empty()) {
    questions = text::parse_python_json(base::read_file(options.file), options.file);
    if (!questions.is_dict()) {
      throw Error(
          ErrorCode::kBadInput, options.file,
          "must be an object of id and definition, not " + std::string(questions.kind_name()));
    }
  }
  for (const std::string& choice : options.choices) {
    add_question(questions, "choice", choice_of(choice));
  }
  for (const std::string& score : options.scores) {
    add_question(questions, "score", score_of(score));
  }
  for (const std::string& noul : options.nouls) add_question(questions, "noul", noul_of(noul));
  if (questions.members.empty()) {
    throw Error(ErrorCode::kBadInput, "questions",
                "there are none; give --questions FILE, --choice, --score or --noul");
  }
  return questions;
}

}  // namespace abba::laya
