#include "harness/workers/conformance_subject.h"

#include "harness/workers/messages.h"

namespace abba::workers {
namespace {

using base::Json;

ProcessSpec spec_of(const std::vector<std::string>& argv) {
  ProcessSpec spec;
  spec.argv = argv;
  return spec;
}

void require_error_form(const Json& answer) {
  for (const char* key : {"code", "message"}) {
    const Json* text = answer.find("error")->find(key);
    if (text == nullptr || !text->is_string() || text->as_string().empty()) {
      throw Broken{std::string("the error has no \"") + key + "\": " + answer.dump().substr(0, 200),
                   "errors-say-what"};
    }
  }
}

}  // namespace

Subject::Subject(const std::vector<std::string>& argv, double timeout_s)
    : process_(spec_of(argv)), timeout_s_(timeout_s) {}

void Subject::require_silence() {
  if (process_.has_unread_output()) {
    throw Broken{"there is output on its standard output that nobody asked for",
                 "one-answer-a-request"};
  }
}

std::string Subject::exchange(const std::string& line) {
  require_silence();
  const Deadline deadline = after_seconds(timeout_s_);
  if (!process_.write_line(line, deadline)) throw Broken{"it does not read its standard input", ""};
  std::string answer;
  switch (process_.read_line(answer, kMaxAnswerBytes, deadline)) {
    case ReadState::kLine:
      require_silence();
      return answer;
    case ReadState::kEnd:
      throw Broken{"it ended where an answer was expected", ""};
    case ReadState::kTimeout:
    case ReadState::kStopped:
      throw Broken{"no answer within the time-out", ""};
    case ReadState::kTooLong:
      break;
  }
  throw Broken{"the answer is larger than 64 MiB", "answers-bounded"};
}

Json Subject::ask_or_error(const Json& request) {
  Json answer = parse_answer(exchange(request.dump()), "worker");
  const std::string type = answer_type(answer);
  if (type == "error") {
    require_error_form(answer);
  } else if (type != answer_type(request)) {
    throw Broken{
        "\"" + answer_type(request) + "\" was answered with " + answer.dump().substr(0, 200),
        "answers-name-their-type"};
  }
  return answer;
}

Json Subject::ask(const Json& request) {
  Json answer = ask_or_error(request);
  if (answer_type(answer) == "error") {
    throw Broken{"\"" + answer_type(request) + "\" was refused: " + answer.dump().substr(0, 300),
                 ""};
  }
  return answer;
}

void Subject::expect_error(const std::string& line) {
  const Json answer = parse_answer(exchange(line), "worker");
  if (answer_type(answer) != "error") {
    throw Broken{"answered with " + answer.dump().substr(0, 200) + " instead of an error", ""};
  }
  require_error_form(answer);
}

record::WorkerHello Subject::hello() {
  return parse_hello(ask(hello_request()), "worker");
}

void Subject::expect_end(bool with_zero) {
  const auto status = process_.wait(after_seconds(timeout_s_));
  if (!status) throw Broken{"it is still running", ""};
  if (with_zero && *status != 0) throw Broken{"it ended with " + status_text(*status), ""};
}

}  // namespace abba::workers
