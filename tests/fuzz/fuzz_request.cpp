// Bodies of any bytes through everything in front of the network: limits, JSON, questions, rows.
// Promises: refusals are Refusals or Errors(kBadInput); an accepted body's rows keep their budget;
// JSON that was printed reads back as itself.
#include "engine/base/error.h"
#include "engine/runtime/wire.h"
#include "engine/text/prompt.h"
#include "tests/fuzz/json_words.h"
#include "tests/fuzz/mutator.h"
#include "tests/unit/text/tokenizers_for_tests.h"

namespace {

using abba::runtime::Request;
namespace text = abba::text;

std::string check_row(const text::PromptRow& row, const text::Question& question,
                      const text::PromptBudget& budget) {
  if (row.ids.empty() || row.ids.size() > static_cast<std::size_t>(budget.max_len)) {
    return "a row outside of its budget";
  }
  if (row.markers.size() != question.options.size()) return "a marker is missing";
  for (std::size_t k = 0; k < row.markers.size(); ++k) {
    const auto marker = static_cast<std::size_t>(row.markers[k]);
    if (marker >= row.ids.size() || row.ids[marker] != 50284) return "a marker marks nothing";
    if (k > 0 && row.markers[k] <= row.markers[k - 1]) return "markers are not ascending";
  }
  return "";
}

std::string check_rows(const Request& request) {
  static const text::Tokenizer kTokenizer = text::builtin_tokenizer();
  const text::PromptBudget budget{request.max_len.value_or(512),
                                  request.head_max_len.value_or(192)};
  const text::EncodedState state = text::encode_state(kTokenizer, request.state);
  for (const text::Question& question : text::parse_questions(request.questions)) {
    const std::string broken =
        check_row(text::build_row(kTokenizer, state, question, budget), question, budget);
    if (!broken.empty()) return broken;
  }
  return "";
}

std::string check_printed(const text::PyValue& value) {
  for (const bool compact : {false, true}) {
    const std::string printed = text::python_dumps(value, compact);
    const auto again = text::parse_python_json(printed, "printed");
    if (text::python_dumps(again, compact) != printed) return "JSON does not read back as printed";
    if (text::python_str_length(again) != text::python_str_length(value)) return "another length";
  }
  return "";
}

std::string target(std::string_view input) {
  try {
    const Request request = abba::runtime::read_body(input, {}, "english");
    const std::string broken = check_printed(request.state);
    return broken.empty() ? check_rows(request) : broken;
  } catch (const abba::runtime::Refusal& refusal) {
    const bool known =
        refusal.status() == 400 || refusal.status() == 413 || refusal.status() == 422;
    const std::string body = abba::runtime::detail_body(refusal.what());
    text::parse_python_json(body, "reply");
    return known ? "" : "an unknown status";
  } catch (const abba::base::Error& error) {
    return error.code() == abba::base::ErrorCode::kBadInput ? "" : error.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  return abba::fuzz::run(
      argc, argv,
      abba::fuzz::with_json({"\"state\"", "\"questions\"", "\"type\"", "\"choice\"", "\"score\"",
                             "\"noul\"", "[MASK]", "\\ud83d", "\"max_len\": 8",
                             "\"criteria\": [\"a\"]", "\"labels\""}),
      target);
}
