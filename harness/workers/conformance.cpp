// The rules themselves, on the raw lines; the checks of messages.h judge the answers. Rules share a
// process until one of them fails: the next then gets a new one, so that no breach hides another.
#include "harness/workers/conformance.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "harness/workers/conformance_subject.h"
#include "harness/workers/messages.h"
#include "harness/workers/process.h"

namespace abba::workers {
namespace {

using base::Error;
using base::Json;

// What the rules share: the command and the workload they try.
class Suite {
 public:
  Suite(const std::vector<std::string>& argv, const ConformanceOptions& options)
      : argv_(argv), options_(options) {}

  std::vector<ConformanceRow> run();

 private:
  static constexpr const char* kWorkload = "worker-check";

  void check(const std::string& rule, const std::function<std::string()>& body);
  [[nodiscard]] Subject start() const { return {argv_, options_.timeout_s}; }
  Subject& shared();
  // The shared one with defaults loaded (if it can) and the workload prepared.
  Subject& prepared();
  void prepare(Subject& subject);
  [[nodiscard]] record::Workload workload() const;
  [[nodiscard]] record::LoadRequest defaults() const;
  [[nodiscard]] static record::SlotRequest slot(const std::string& id);
  [[nodiscard]] bool declares(const std::string& capability) const;
  record::SlotReply ask_slot(Subject& subject, const record::SlotRequest& request) const;

  std::string hello_valid();
  std::string describe_equals_hello();
  std::string unknown_message();
  std::string garbage_survived();
  std::string load_effective();
  std::string unknown_level();
  std::string prepare_ready();
  std::string samples_consistent();
  std::string slot_id_echoed();
  std::string spans_nested();
  std::string unknown_workload();
  std::string digest_repeatable();
  std::string outputs_answered();
  std::string shutdown_zero();
  std::string end_of_input();

  const std::vector<std::string>& argv_;
  const ConformanceOptions& options_;
  record::WorkerHello hello_;
  std::vector<ConformanceRow> rows_;
  std::unique_ptr<Subject> shared_;
  bool prepared_ = false;
};

Subject& Suite::shared() {
  if (!shared_) {
    shared_ = std::make_unique<Subject>(argv_, options_.timeout_s);
    prepared_ = false;
  }
  return *shared_;
}

Subject& Suite::prepared() {
  Subject& subject = shared();
  if (!prepared_) prepare(subject);
  prepared_ = true;
  return subject;
}

void Suite::check(const std::string& rule, const std::function<std::string()>& body) {
  ConformanceRow row;
  row.rule = rule;
  try {
    row.detail = body();
    row.passed = true;
  } catch (const Broken& broken) {
    row.detail = broken.detail;
  } catch (const NotDeclared& missing) {
    row.detail = missing.detail;
    row.skipped = true;
  } catch (const Error& error) {
    row.detail = error.message();
  }
  if (!row.passed && !row.skipped) shared_.reset();
  rows_.push_back(std::move(row));
}

bool Suite::declares(const std::string& capability) const {
  return std::find(hello_.capabilities.begin(), hello_.capabilities.end(), capability) !=
         hello_.capabilities.end();
}

record::Workload Suite::workload() const {
  record::Workload workload;
  workload.id = kWorkload;
  if (!options_.workload_input_json.empty()) {
    workload.input = base::parse_json(options_.workload_input_json, "--input");
  } else if (const Json* form = hello_.raw.find("workload_form")) {
    const Json* example = form->find("example");
    if (example != nullptr) workload.input = *example;
  }
  return workload;
}

record::LoadRequest Suite::defaults() const {
  record::LoadRequest request;
  request.device = options_.device;
  return request;
}

record::SlotRequest Suite::slot(const std::string& id) {
  record::SlotRequest request;
  request.slot_id = id;
  request.workload = kWorkload;
  request.warmup = 2;
  request.requests = 5;
  return request;
}

void Suite::prepare(Subject& subject) {
  subject.ask(hello_request());
  if (declares("load")) subject.ask(load_request(defaults()));
  parse_prepare(subject.ask(prepare_request(workload(), 7)), "worker");
}

record::SlotReply Suite::ask_slot(Subject& subject, const record::SlotRequest& request) const {
  return parse_slot(subject.ask(slot_request(request)), request, hello_, "worker");
}

std::string Suite::hello_valid() {
  hello_ = shared().hello();
  Json wrong = hello_request();
  Json versions = Json::array();
  versions.push_back("abba.worker/0");
  wrong.set("versions", versions);
  shared().expect_error(wrong.dump());
  shared().hello();
  return hello_.name + " " + hello_.version;
}

std::string Suite::describe_equals_hello() {
  ProcessSpec spec;
  spec.argv = argv_;
  spec.argv.push_back("--describe");
  const CommandResult result = run_command(spec, options_.timeout_s);
  if (result.exit_code != 0)
    throw Broken{"--describe ended with " + std::to_string(result.exit_code)};
  const std::string line(base::trim(result.output));
  if (!(parse_answer(line, "worker") == hello_.raw)) throw Broken{"--describe differs from hello"};
  return "";
}

std::string Suite::unknown_message() {
  Subject& subject = shared();
  subject.hello();
  subject.expect_error(R"({"type":"no-such-message"})");
  subject.hello();
  return "";
}

std::string Suite::garbage_survived() {
  Subject& subject = shared();
  subject.expect_error("this is no JSON");
  subject.expect_error(R"({"type":)");
  subject.expect_error(std::string(200, '['));
  subject.hello();
  return "";
}

std::string Suite::load_effective() {
  if (!declares("load")) throw NotDeclared{"no capability \"load\""};
  Subject& subject = shared();
  subject.hello();
  int loads = 0;
  for (const record::FactorDecl& factor : hello_.factors) {
    for (const record::LevelDecl& level : factor.levels) {
      record::LoadRequest request = defaults();
      request.factors[factor.name] = level.name;
      const Json answer = parse_answer(subject.exchange(load_request(request).dump()), "worker");
      if (answer_type(answer) == "error") continue;  // this machine may lack what the level needs
      const record::LoadReply reply = parse_load(answer, "worker");
      const auto effective = reply.factors.find(factor.name);
      if (effective == reply.factors.end() || effective->second != level.name) {
        throw Broken{"asked for " + factor.name + " = " + level.name + ", in effect is " +
                     (effective == reply.factors.end() ? "nothing" : effective->second)};
      }
      ++loads;
    }
  }
  const record::LoadReply reply = parse_load(subject.ask(load_request(defaults())), "worker");
  prepared_ = false;
  const base::Json* uuid = reply.device.find("uuid");
  const bool names_device = uuid != nullptr && uuid->is_string() && !uuid->as_string().empty();
  if (options_.require_device && !names_device) {
    throw Broken{"a CUDA device is required, but the load reply names no device UUID"};
  }
  return std::to_string(loads) + " levels loaded";
}

std::string Suite::unknown_level() {
  if (hello_.factors.empty()) throw NotDeclared{"no factors"};
  Subject& subject = shared();
  subject.hello();
  record::LoadRequest level;
  level.factors[hello_.factors.front().name] = "no-such-level";
  subject.expect_error(load_request(level).dump());
  record::LoadRequest factor;
  factor.factors["no-such-factor"] = "x";
  subject.expect_error(load_request(factor).dump());
  return "";
}

std::string Suite::prepare_ready() {
  prepared();
  return "";
}

std::string Suite::unknown_workload() {
  Subject& subject = prepared();
  record::SlotRequest request = slot("s");
  request.workload = "no-such-workload";
  subject.expect_error(slot_request(request).dump());
  return "";
}

std::string Suite::slot_id_echoed() {
  Subject& subject = prepared();
  for (const char* id : {"first-slot", "second slot \"quoted\""}) {
    const Json answer = subject.ask(slot_request(slot(id)));
    const Json* echoed = answer.find("slot_id");
    if (echoed == nullptr || !echoed->is_string() || echoed->as_string() != id) {
      throw Broken{std::string("slot \"") + id + "\" was answered as " +
                   (echoed == nullptr ? "nothing" : echoed->dump())};
    }
  }
  return "";
}

std::string Suite::samples_consistent() {
  Subject& subject = prepared();
  const record::SlotReply reply = ask_slot(subject, slot("samples"));
  record::SlotRequest single = slot("single");
  single.warmup = 0;
  single.requests = 1;
  ask_slot(subject, single);
  if (reply.failures > 0) throw Broken{"requests failed: " + reply.failure_text};
  return std::to_string(reply.samples.size()) + " samples";
}

std::string Suite::spans_nested() {
  if (!declares("spans")) throw NotDeclared{"no capability \"spans\""};
  Subject& subject = prepared();
  std::size_t spans = 0;
  for (const record::BoundaryDecl& boundary : hello_.boundaries) {
    record::SlotRequest request = slot("of " + boundary.name);
    request.boundaries = {boundary.name};
    const Json answer = parse_answer(subject.exchange(slot_request(request).dump()), "worker");
    if (answer_type(answer) == "error") continue;  // a boundary that this workload does not have
    spans += parse_slot(answer, request, hello_, "worker").spans.size();
  }
  return std::to_string(spans) + " spans";
}

std::string Suite::digest_repeatable() {
  if (!declares("outputs")) throw NotDeclared{"no capability \"outputs\""};
  Subject& subject = prepared();
  const std::string first = ask_slot(subject, slot("first")).digest;
  const std::string second = ask_slot(subject, slot("second")).digest;
  Subject other = start();
  prepare(other);
  const std::string third = ask_slot(other, slot("third")).digest;
  if (first.empty()) throw Broken{"a slot has no digest, though outputs are declared"};
  if (first != second) throw Broken{"two slots of one process differ in their digest"};
  if (first != third) throw Broken{"two processes differ in their digest"};
  return first.substr(0, 8);
}

std::string Suite::outputs_answered() {
  if (!declares("outputs")) throw NotDeclared{"no capability \"outputs\""};
  Subject& subject = prepared();
  const auto ask = [&](bool values) {
    return parse_outputs(subject.ask(outputs_request(kWorkload, {}, values)), {}, hello_, values,
                         "worker");
  };
  const std::vector<record::OutputTensor> first = ask(false);
  const std::vector<record::OutputTensor> second = ask(true);
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].digest != second[i].digest) {
      throw Broken{"the stage \"" + first[i].stage + "\" differs between two requests"};
    }
  }
  return std::to_string(first.size()) + " stages";
}

std::string Suite::shutdown_zero() {
  Subject& subject = prepared();
  subject.ask(shutdown_request());
  subject.expect_end(true);
  return "";
}

std::string Suite::end_of_input() {
  Subject subject = start();
  subject.hello();
  subject.process().close_input();
  subject.expect_end(false);
  return "";
}

std::vector<ConformanceRow> Suite::run() {
  shared();  // throws if there is nothing to start
  check("hello-valid", [&] { return hello_valid(); });
  if (!rows_.back().passed) return std::move(rows_);  // nothing else can be judged
  check("describe-equals-hello", [&] { return describe_equals_hello(); });
  check("unknown-message-refused", [&] { return unknown_message(); });
  check("garbage-survived", [&] { return garbage_survived(); });
  check("load-effective", [&] { return load_effective(); });
  check("unknown-level-refused", [&] { return unknown_level(); });
  check("prepare-ready", [&] { return prepare_ready(); });
  check("unknown-workload-refused", [&] { return unknown_workload(); });
  check("slot-id-echoed", [&] { return slot_id_echoed(); });
  check("samples-consistent", [&] { return samples_consistent(); });
  check("spans-nested", [&] { return spans_nested(); });
  check("digest-repeatable", [&] { return digest_repeatable(); });
  check("outputs-answered", [&] { return outputs_answered(); });
  check("shutdown-exits-zero", [&] { return shutdown_zero(); });
  check("end-of-input-ends", [&] { return end_of_input(); });
  return std::move(rows_);
}

}  // namespace

std::vector<ConformanceRow> conformance(const std::vector<std::string>& argv,
                                        const ConformanceOptions& options) {
  return Suite(argv, options).run();
}

bool conforms(const std::vector<ConformanceRow>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [](const ConformanceRow& row) { return row.passed || row.skipped; });
}

}  // namespace abba::workers
