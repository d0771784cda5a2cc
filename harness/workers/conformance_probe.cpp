#include "harness/workers/conformance_probe.h"

#include "harness/workers/messages.h"

namespace abba::workers {

using base::Json;

Bench::Bench(const std::vector<std::string>& command, const ConformanceOptions& with)
    : argv(command), options(with) {
  if (!options.workload_input_json.empty()) {
    input_ = base::parse_json(options.workload_input_json, "--input");
  }
}

Subject& Bench::shared() {
  if (!shared_) {
    shared_ = std::make_unique<Subject>(argv, options.timeout_s);
    prepared_ = false;
  }
  return *shared_;
}

Subject& Bench::prepared() {
  Subject& subject = shared();
  if (!prepared_) {
    load_defaults(subject);
    parse_prepare(prepare(subject), "worker");
  }
  prepared_ = true;
  return subject;
}

void Bench::load_defaults(Subject& subject) const {
  subject.ask(hello_request());
  if (hello.declares("load")) subject.ask(load_request(defaults()));
}

Json Bench::prepare(Subject& subject) const {
  return subject.ask(prepare_request(workload(), 7));
}

void Bench::require_capability(std::string_view capability) const {
  if (!hello.declares(capability)) {
    throw NotDeclared{"the capability \"" + std::string(capability) + "\" is not declared"};
  }
}

record::Workload Bench::workload() const {
  record::Workload workload;
  workload.id = kWorkload;
  workload.input = input_;
  const Json* form = hello.raw.find("workload_form");
  const Json* example = form == nullptr ? nullptr : form->find("example");
  if (input_.is_null() && example != nullptr) workload.input = *example;
  if (!options.boundary.empty()) workload.boundaries = {options.boundary};
  return workload;
}

record::LoadRequest Bench::defaults() const {
  record::LoadRequest request;
  request.settings = options.settings;
  request.files = options.files;
  request.device = options.device;
  return request;
}

record::SlotRequest Bench::slot(const std::string& id) {
  record::SlotRequest request;
  request.slot_id = id;
  request.workload = kWorkload;
  request.warmup = 2;
  request.requests = 5;
  return request;
}

record::SlotReply Bench::ask_slot(Subject& subject, const record::SlotRequest& request) const {
  return parse_slot(subject.ask(slot_request(request)), request, hello, "worker");
}

std::vector<record::OutputTensor> Bench::ask_outputs(Subject& subject,
                                                     const std::vector<std::string>& stages,
                                                     bool values) const {
  return parse_outputs(subject.ask(outputs_request(kWorkload, stages, values)), stages, hello,
                       values, "worker");
}

}  // namespace abba::workers
