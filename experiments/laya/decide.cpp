// `abba laya decide`: one request or a file of them, answered and printed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/runtime/wire.h"
#include "experiments/laya/terminal.h"
#include "experiments/laya/text_commands.h"

namespace abba::laya {
namespace {

using base::Error;
using base::ErrorCode;
using text::PyValue;

constexpr std::size_t kMostLineBytes = std::size_t{16} << 20U;  // of --requests

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

PyValue ids_value(const std::vector<std::int32_t>& ids) {
  PyValue list = PyValue::list();
  for (const std::int32_t id : ids) list.items.push_back(PyValue::of_int(id));
  return list;
}

PyValue floats_value(const std::vector<float>& values) {
  PyValue list = PyValue::list();
  for (const float value : values) list.items.push_back(PyValue::of_float(value));
  return list;
}

// What the answers were made of, for comparison with another implementation.
PyValue rows_value(const runtime::Response& response) {
  PyValue rows = PyValue::dict();
  for (const runtime::AnsweredQuestion& answered : response.answered) {
    PyValue row = PyValue::dict();
    row.add("ids", ids_value(answered.row.ids));
    row.add("markers", ids_value(answered.row.markers));
    row.add("logits", floats_value(answered.logits));
    row.add("action_logits", floats_value(answered.action_logits));
    row.add("probabilities", floats_value(answered.answer.exact));
    rows.add(answered.question.id, std::move(row));
  }
  return rows;
}

std::string as_json(const runtime::Response& response, bool with_rows) {
  PyValue value = runtime::response_value(response);
  if (with_rows) value.add("rows", rows_value(response));
  return text::python_dumps(value) + "\n";
}

std::string fixed(double value, int width = 8) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%*.4f", width, value);
  return buffer;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

std::string answer_lines(const runtime::AnsweredQuestion& answered) {
  const text::Question& question = answered.question;
  const text::Answer& answer = answered.answer;
  const bool is_choice = question.type == text::QuestionType::kChoice;
  std::string result = is_choice ? text::python_str(question.labels[answer.best])
                                 : std::string(base::trim(fixed(answer.value)));
  if (question.type == text::QuestionType::kNoul) result += " true";
  std::string out = question.id + "  " + std::string(text::name_of(question.type)) + ": " + result +
                    "   (confidence " + std::string(base::trim(fixed(answer.confidence))) + ")\n";
  for (std::size_t i = 0; i < answer.probabilities.size(); ++i) {
    out +=
        "  " + fixed(answer.probabilities[i], 6) + "  " +
        padded(std::string(static_cast<std::size_t>(answer.probabilities[i] * 20 + 0.5), '#'), 21) +
        question.options[i] + "\n";
  }
  return out;
}

std::string as_table(const runtime::Response& response) {
  std::string out;
  for (const runtime::AnsweredQuestion& answered : response.answered) {
    out += answer_lines(answered);
  }
  return out + std::to_string(response.input_tokens()) + " tokens\n";
}

void print_spans(const runtime::SpanLog& log) {
  const auto& records = log.records();
  if (records.empty()) return;
  const double whole = static_cast<double>(records[0].end_ns - records[0].start_ns);
  for (const runtime::SpanRecord& record : records) {
    int depth = 0;
    for (int parent = record.parent; parent >= 0; parent = records[std::size_t(parent)].parent) {
      ++depth;
    }
    const double ns = static_cast<double>(record.end_ns - record.start_ns);
    std::fprintf(stderr, "%*s%-*s %10.3f ms %6.1f %%\n", 2 * depth, "", 20 - 2 * depth, record.name,
                 ns / 1e6, 100 * ns / std::max(1.0, whole));
  }
}

// The next line without its end; false after the last. Of a longer line than that `line` keeps the
// beginning, and one byte more than allowed.
bool next_line(std::istream& lines, std::string& line) {
  line.clear();
  bool any = false;
  std::streambuf& bytes = *lines.rdbuf();
  for (int c = bytes.sbumpc(); c != std::char_traits<char>::eof(); c = bytes.sbumpc()) {
    if (c == '\n') return true;
    any = true;
    if (line.size() <= kMostLineBytes) line.push_back(static_cast<char>(c));
  }
  return any;
}

std::string answer_line(const Decide& options, runtime::Runtime& runtime, const std::string& line,
                        const std::string& where) {
  try {
    if (line.size() > kMostLineBytes) {
      throw Error(ErrorCode::kBadInput, where,
                  "is longer than " + std::to_string(kMostLineBytes >> 20U) +
                      " MiB; a line is one request, cut its state");
    }
    const PyValue body = text::parse_python_json(line, where);
    return as_json(runtime.answer(runtime::read_request(body, where)), options.rows);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
    PyValue value = PyValue::dict();
    value.add("error", PyValue::of_string(error.what()));
    return text::python_dumps(value) + "\n";
  }
}

// One line in, one line out; a request that cannot be answered gives {"error": sentence}.
void decide_lines(const Decide& options, runtime::Runtime& runtime) {
  std::ifstream file;
  if (options.requests != "-") file.open(options.requests);
  if (options.requests != "-" && !file) {
    throw Error(ErrorCode::kBadInput, options.requests, "cannot be read");
  }
  std::istream& lines = options.requests == "-" ? std::cin : file;
  std::string line;
  try {
    for (std::int64_t number = 1; next_line(lines, line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      print_out(answer_line(options, runtime, line,
                            options.requests + " line " + std::to_string(number)));
    }
  } catch (const std::ios_base::failure&) {  // a folder, or a disk that gives out
    throw Error(ErrorCode::kBadInput, options.requests, "cannot be read to its end");
  }
}

}  // namespace

void decide(const Decide& options) {
  if (!options.requests.empty()) {
    return decide_lines(options, load_model(options.model)->runtime);
  }
  runtime::Request request;
  request.questions = read_questions(options.questions);
  text::parse_questions(request.questions);  // a mistake shows before the checkpoint is loaded
  request.state = read_state(options.state);
  request.max_len = options.max_len;
  request.head_max_len = options.head_max_len;
  request.language = options.language;
  const auto model = load_model(options.model);
  if (options.in_windows) {
    const PyValue value = runtime::answer_long(model->runtime, request, options.windows);
    return print_out(text::python_dumps(value) + "\n");
  }
  runtime::SpanLog spans(steady_ns);
  const runtime::Response response = model->runtime.answer(request, &spans);
  const bool table = stdout_is_terminal() && !options.json && !options.rows;
  print_out(table ? as_table(response) : as_json(response, options.rows));
  if (options.spans) print_spans(spans);
}

}  // namespace abba::laya
