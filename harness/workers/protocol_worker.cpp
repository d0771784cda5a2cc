#include "harness/workers/protocol_worker.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/base/text.h"
#include "harness/workers/executable.h"
#include "harness/workers/messages.h"

namespace abba::workers {

using base::Error;
using base::ErrorCode;
using base::Json;

ProcessSpec process_spec(const WorkerSpec& spec) {
  ProcessSpec process{spec.argv,        spec.cwd, spec.environment, spec.cpus,
                      spec.memory_node, spec.log, spec.stop};
  if (spec.padding_bytes > 0) {
    base::Random random(spec.padding_seed);
    std::string padding(spec.padding_bytes, 'x');
    for (char& letter : padding) letter = static_cast<char>('a' + random.below(26));
    process.environment["ABBA_PADDING"] = padding;
  }
  return process;
}

std::string stderr_excerpt(const std::vector<std::string>& tail) {
  constexpr std::ptrdiff_t kLines = 5;
  if (tail.empty()) return "";
  const auto first = tail.end() - std::min<std::ptrdiff_t>(kLines, std::ssize(tail));
  return "; its last lines on standard error: " +
         base::join(std::vector<std::string>(first, tail.end()), " | ");
}

double slot_timeout_s(const WorkerSpec& spec, const record::SlotRequest& request) {
  constexpr double kSlack = 10;  // a machine that is busy with other things
  const double paced_s =
      request.interval_ms * static_cast<double>(request.warmup + request.requests) / 1e3;
  return spec.timeouts.slot_s + paced_s + kSlack * request.expected_s;
}

template <typename Parse>
auto ProtocolWorker::checked(Parse parse) {
  try {
    return parse();
  } catch (const Error& error) {
    give_up(error.message());
  }
}

ProtocolWorker::ProtocolWorker(const WorkerSpec& spec) : spec_(spec), process_(process_spec(spec)) {
  const Json answer = ask(hello_request(), spec_.timeouts.hello_s, ErrorCode::kBroken);
  hello_ = checked([&] { return parse_hello(answer, spec_.name); });
}

void ProtocolWorker::give_up(const std::string& problem) {
  const int status = process_.terminate(0);
  exit_code_ = workers::exit_code(status);
  broken_ = problem + stderr_excerpt(process_.stderr_tail());
  throw Error(ErrorCode::kBroken, spec_.name, broken_);
}

std::string ProtocolWorker::exchange(const std::string& line, const std::string& type,
                                     double timeout_s) {
  const Deadline deadline = after_seconds(timeout_s);
  if (process_.has_unread_output()) {
    give_up("printed on its standard output without being asked, before \"" + type + "\"");
  }
  const bool written = process_.write_line(line, deadline);
  std::string answer;
  switch (process_.read_line(answer, kMaxAnswerBytes, deadline)) {
    case ReadState::kLine:
      return answer;
    case ReadState::kTooLong:
      give_up("answered \"" + type + "\" with more than 64 MiB");
    case ReadState::kTimeout:
      give_up((written ? "did not answer \"" : "did not read \"") + type + "\" within " +
              Json(timeout_s).canonical() + " s and was killed");
    case ReadState::kStopped:
      give_up("was killed on request during \"" + type + "\"");
    case ReadState::kEnd:
      break;
  }
  constexpr double kLastBreath = 1;  // seconds from closing its output to its death
  const auto status = process_.wait(after_seconds(kLastBreath));
  if (!status) give_up("closed its standard output during \"" + type + "\"");
  give_up("died during \"" + type + "\" with " + status_text(*status));
}

Json ProtocolWorker::ask(const Json& request, double timeout_s, ErrorCode refusal) {
  if (!broken_.empty()) throw Error(ErrorCode::kBroken, spec_.name, "is gone: it " + broken_);
  if (exit_code_ >= 0) throw Error(ErrorCode::kBroken, spec_.name, "was shut down already");
  const std::string type = answer_type(request);
  const std::string line = request.dump();
  if (line.size() > kMaxRequestBytes) {
    throw Error(ErrorCode::kBadInput, spec_.name,
                "the request \"" + type + "\" is larger than 1 MiB; put large inputs in a file");
  }
  const std::string text = exchange(line, type, timeout_s);
  Json answer = checked([&] { return parse_answer(text, spec_.name); });
  const std::string answered = answer_type(answer);
  if (answered == "error") {
    const Json& error = *answer.find("error");
    const Json* code = error.find("code");
    const Json* message = error.find("message");
    const auto text_of = [](const Json* value) {
      return value != nullptr && value->is_string() ? value->as_string().substr(0, 1000) : "?";
    };
    throw Error(refusal, spec_.name,
                "refused \"" + type + "\": " + text_of(message) + " (" + text_of(code) + ")" +
                    stderr_excerpt(process_.stderr_tail()));
  }
  if (answered != type)
    give_up("answered \"" + type + "\" with \"" + answered.substr(0, 40) + "\"");
  return answer;
}

record::LoadReply ProtocolWorker::load(const record::LoadRequest& request) {
  if (!hello_.declares("load")) {
    const bool nothing_asked =
        request.files.empty() && request.factors.empty() && request.inject.is_null() &&
        (!request.settings.is_object() || request.settings.as_object().empty());
    if (nothing_asked) return {Json::object(), {}, Json(), Json(), {}};
    throw Error(ErrorCode::kPreflight, spec_.name,
                "does not declare the capability \"load\", so it takes no settings, files, factors "
                "or injected effects");
  }
  const Json answer = ask(load_request(request), spec_.timeouts.load_s, ErrorCode::kPreflight);
  return checked([&] { return parse_load(answer, spec_.name); });
}

record::PrepareReply ProtocolWorker::prepare(const record::Workload& workload,
                                             std::uint64_t rotate_seed) {
  const Json answer =
      ask(prepare_request(workload, rotate_seed), spec_.timeouts.prepare_s, ErrorCode::kPreflight);
  return checked([&] { return parse_prepare(answer, spec_.name); });
}

record::SlotReply ProtocolWorker::slot(const record::SlotRequest& asked) {
  record::SlotRequest request = asked;
  request.factors = factors_;
  const Json answer =
      ask(slot_request(request), slot_timeout_s(spec_, request), ErrorCode::kBroken);
  return checked([&] { return parse_slot(answer, request, hello_, spec_.name); });
}

std::vector<record::OutputTensor> ProtocolWorker::outputs(const std::string& workload,
                                                          const std::vector<std::string>& stages,
                                                          bool with_values) {
  if (!hello_.declares("outputs")) {
    throw Error(ErrorCode::kBroken, spec_.name, "does not declare the capability \"outputs\"");
  }
  const Json answer = ask(outputs_request(workload, stages, with_values, factors_),
                          spec_.timeouts.outputs_s, ErrorCode::kPreflight);
  return checked([&] {
    require_switched(answer, factors_, spec_.name);
    return parse_outputs(answer, stages, hello_, with_values, spec_.name);
  });
}

std::vector<record::CaptureCosts> ProtocolWorker::graph_capture(const std::string& workload) {
  if (!hello_.declares("graph_capture")) {
    throw Error(ErrorCode::kBroken, spec_.name,
                "does not declare the capability \"graph_capture\"");
  }
  const Json answer =
      ask(graph_capture_request(workload), spec_.timeouts.graph_capture_s, ErrorCode::kPreflight);
  return checked([&] { return parse_graph_capture(answer, spec_.name); });
}

int ProtocolWorker::shutdown() {
  if (exit_code_ >= 0) return exit_code_;
  const Deadline deadline = after_seconds(spec_.timeouts.shutdown_s);
  if (process_.write_line(shutdown_request().dump(), deadline)) process_.wait(deadline);
  process_.close_input();
  exit_code_ = workers::exit_code(process_.terminate(spec_.timeouts.shutdown_s));
  return exit_code_;
}

std::vector<record::Binding> ProtocolWorker::files() const {
  std::vector<record::Binding> bindings = hash_mapped_files(pid(), spec_.name, spec_.digests);
  for (record::Binding& argument : hash_command(spec_.argv, spec_.name, spec_.digests)) {
    if (argument.name.compare(0, 9, "argument/") == 0) bindings.push_back(std::move(argument));
  }
  // A process that dies meanwhile shows some of its files or none: not what it ran with.
  if (process_.has_ended()) {
    throw Error(ErrorCode::kBroken, spec_.name,
                "died while its files were read" + stderr_excerpt(process_.stderr_tail()));
  }
  return bindings;
}

std::size_t draw_padding(std::uint64_t seed) {
  return static_cast<std::size_t>(base::Random(seed).below(4096));
}

}  // namespace abba::workers
