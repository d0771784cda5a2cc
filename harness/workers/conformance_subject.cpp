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

}  // namespace

Subject::Subject(const std::vector<std::string>& argv, double timeout_s)
    : process_(spec_of(argv)), timeout_s_(timeout_s) {}

std::string Subject::exchange(const std::string& line) {
  const Deadline deadline = after_seconds(timeout_s_);
  if (!process_.write_line(line, deadline)) throw Broken{"it does not read its standard input"};
  std::string answer;
  switch (process_.read_line(answer, kMaxAnswerBytes, deadline)) {
    case ReadState::kLine:
      return answer;
    case ReadState::kEnd:
      throw Broken{"it ended where an answer was expected"};
    case ReadState::kTimeout:
      throw Broken{"no answer within the time-out"};
    case ReadState::kTooLong:
      break;
  }
  throw Broken{"the answer is larger than 64 MiB"};
}

Json Subject::ask(const Json& request) {
  const Json answer = parse_answer(exchange(request.dump()), "worker");
  if (answer_type(answer) != answer_type(request)) {
    throw Broken{"\"" + answer_type(request) + "\" was answered with " +
                 answer.dump().substr(0, 200)};
  }
  return answer;
}

void Subject::expect_error(const std::string& line) {
  const Json answer = parse_answer(exchange(line), "worker");
  if (answer_type(answer) != "error") {
    throw Broken{"answered with " + answer.dump().substr(0, 200) + " instead of an error"};
  }
  for (const char* key : {"code", "message"}) {
    const Json* text = answer.find("error")->find(key);
    if (text == nullptr || !text->is_string() || text->as_string().empty()) {
      throw Broken{std::string("the error has no \"") + key + "\""};
    }
  }
}

record::WorkerHello Subject::hello() {
  return parse_hello(ask(hello_request()), "worker");
}

void Subject::expect_end(bool with_zero) {
  const auto status = process_.wait(after_seconds(timeout_s_));
  if (!status) throw Broken{"it is still running"};
  if (with_zero && *status != 0) throw Broken{"it ended with " + status_text(*status)};
}

}  // namespace abba::workers
