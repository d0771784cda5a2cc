#include "engine/runtime/wire.h"

#include <cmath>

#include "engine/base/error.h"
#include "engine/runtime/published_models.h"

namespace abba::runtime {
namespace {

using base::Error;
using base::ErrorCode;
using text::PyValue;

std::string exceeded(std::size_t found, std::size_t limit) {
  return " (" + std::to_string(found) + " > " + std::to_string(limit) + ")";
}

// Options of a question whose criteria have the form its type takes; 0 for any other.
std::size_t options_of(const PyValue& question, const WireLimits& limits, const std::string& id) {
  const PyValue* type = question.find("type");
  const PyValue* criteria = question.find("criteria");
  if (type == nullptr || criteria == nullptr || !type->is_string()) return 0;
  const std::size_t count = criteria->items.size() + criteria->members.size();
  if (type->text == "choice" && count > limits.choice_options) {
    throw Refusal(
        413, "too many choice options for '" + id + "'" + exceeded(count, limits.choice_options));
  }
  const bool is_score = type->text == "score" && criteria->is_list();
  if (is_score && count > limits.score_levels) {
    throw Refusal(413,
                  "too many score levels for '" + id + "'" + exceeded(count, limits.score_levels));
  }
  return type->text == "choice" || is_score ? count : 0;
}

void check_limits(const Request& request, const WireLimits& limits) {
  const auto& questions = request.questions.members;
  if (questions.size() > limits.questions) {
    throw Refusal(413, "too many questions" + exceeded(questions.size(), limits.questions));
  }
  std::size_t options = 0;
  for (const auto& [id, question] : questions) options += options_of(question, limits, id);
  if (options > limits.options_in_all) {
    throw Refusal(
        413, "too many answer options across questions" + exceeded(options, limits.options_in_all));
  }
  const std::size_t chars = text::python_str_length(request.state);
  if (chars > limits.state_chars) {
    throw Refusal(413, "state too large (" + std::to_string(chars) + " > " +
                           std::to_string(limits.state_chars) + " chars)");
  }
}

std::optional<std::int64_t> token_budget(const PyValue& body, const char* key, std::int64_t most) {
  const PyValue* value = body.find(key);
  if (value == nullptr || value->is_none()) return std::nullopt;
  if (value->kind != PyValue::Kind::kInt) {
    throw Refusal(422, "'" + std::string(key) + "' must be an integer");
  }
  // More than four digits are out of range whatever they say.
  const std::int64_t number = value->text.size() > 5 ? -1 : std::stoll(value->text);
  if (number < 1 || number > most) {
    throw Refusal(422, "'" + std::string(key) + "' must be between 1 and " + std::to_string(most));
  }
  return number;
}

// A language code or nothing; `key` is "lang" or "lang_guess".
std::string language_of(const PyValue& body, const char* key) {
  const PyValue* value = body.find(key);
  if (value == nullptr || value->is_none()) return "";
  if (!value->is_string()) {
    throw Refusal(422,
                  "'" + std::string(key) + "' must be a language code such as \"de\", or null");
  }
  return value->text;
}

// The checkpoint that "model", or without it "task", asks for must be the one there is.
void check_model(const PyValue& body, std::string_view loaded) {
  const auto refuse = [&](const std::string& key) {
    throw Refusal(422, "this server has the checkpoint '" + std::string(loaded) +
                           "' loaded and no other; leave '" + key +
                           "' out or ask a server that has what it names");
  };
  const PyValue* model = body.find("model");
  if (model != nullptr && model->is_string()) {
    const std::string_view wanted = published_model(model->text);
    if (names_a_source(model->text) || (!wanted.empty() && wanted != loaded)) refuse("model");
    if (!wanted.empty()) return;
  }
  const PyValue* task = body.find("task");
  if (task == nullptr || task->is_none()) return;
  if (!task->is_string() || published_model(task->text) != loaded) refuse("task");
}

// What the original's clients may ask for and this server does not do: said, not passed over.
void refuse_unsupported(const PyValue& body) {
  for (const char* key : {"min_confidence", "hooks", "on_predict_start", "on_predict_end",
                          "hooks_raise", "hooks_timeout"}) {
    const PyValue* value = body.find(key);
    if (value != nullptr && !value->is_none()) {
      throw Refusal(422, "this server does not know '" + std::string(key) + "'; leave it out");
    }
  }
}

// Numbers that Python prints and JSON does not have.
bool has_no_json(const PyValue& value) {
  if (value.kind == PyValue::Kind::kFloat) return !std::isfinite(value.number);
  for (const PyValue& item : value.items) {
    if (has_no_json(item)) return true;
  }
  for (const auto& [key, member] : value.members) {
    if (has_no_json(member)) return true;
  }
  return false;
}

PyValue parse_body(std::string_view bytes, const WireLimits& limits) {
  if (bytes.size() > limits.body_bytes) throw Refusal(413, "request body too large");
  try {
    return text::parse_python_json(bytes, "request body",
                                   {.max_bytes = limits.body_bytes, .max_depth = limits.depth});
  } catch (const Error& error) {
    throw Refusal(400, "request body must be valid JSON: " + error.message());
  }
}

}  // namespace

Request read_request(const PyValue& body, const std::string& where) {
  const auto refuse = [&](const char* sentence) {
    throw Error(ErrorCode::kBadInput, where, sentence);
  };
  if (!body.is_dict() || body.find("questions") == nullptr) {
    refuse("must be an object with 'state' and 'questions'");
  }
  const PyValue* state = body.find("state");
  if (state == nullptr || state->is_none()) refuse("'state' is required");
  Request request;
  request.state = *state;
  request.questions = *body.find("questions");
  if (!request.questions.is_dict()) refuse("'questions' must be an object");
  const WireLimits limits;
  try {
    request.max_len = token_budget(body, "max_len", limits.tokens);
    request.head_max_len = token_budget(body, "head_max_len", limits.tokens);
    request.language = language_of(body, "lang");
  } catch (const Refusal& refusal) {
    refuse(refusal.what());
  }
  return request;
}

Request read_body(std::string_view bytes, const WireLimits& limits, std::string_view loaded) {
  const PyValue body = parse_body(bytes, limits);
  // The original judges limits before budgets and languages.
  PyValue first = body;
  std::erase_if(first.members, [](const auto& member) {
    return member.first == "max_len" || member.first == "head_max_len" || member.first == "lang";
  });
  Request request;
  try {
    request = read_request(first, "");
  } catch (const Error& error) {
    throw Refusal(400, error.message());
  }
  check_limits(request, limits);
  refuse_unsupported(body);
  check_model(body, loaded);
  request.max_len = token_budget(body, "max_len", limits.tokens);
  request.head_max_len = token_budget(body, "head_max_len", limits.tokens);
  request.language = language_of(body, "lang");
  language_of(body, "lang_guess");  // helps to choose a checkpoint, and here there is one
  return request;
}

std::string reply_body(const Response& response, std::string_view loaded, std::string_view repo) {
  PyValue value = response_value(response);
  PyValue routing = PyValue::dict();
  routing.add("model", PyValue::of_string(loaded));
  routing.add("repo", PyValue::of_string(repo));
  routing.add("reason", PyValue::of_string("the one checkpoint of this server"));
  routing.add("detection", {});
  routing.add("workflow", {});
  value.add("routing", std::move(routing));
  if (has_no_json(value)) {
    throw Refusal(422, "Out of range float values are not JSON compliant");
  }
  return text::python_dumps(value, true);
}

std::string detail_body(std::string_view sentence) {
  PyValue value = PyValue::dict();
  value.add("detail", PyValue::of_string(sentence));
  return text::python_dumps(value, true);
}

}  // namespace abba::runtime
