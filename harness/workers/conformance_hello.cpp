// Rules about hello, --describe and lines that no worker understands; and about the end.
#include <filesystem>
#include <fstream>

#include "engine/base/text.h"
#include "harness/record/registration.h"
#include "harness/workers/conformance_probe.h"
#include "harness/workers/messages.h"

namespace abba::workers {
namespace {

using base::Json;

std::string hello_valid(Bench& bench) {
  bench.hello = bench.shared().hello();
  return bench.hello.name + " " + bench.hello.version;
}

std::string capabilities_fit(Bench& bench) {
  if (bench.hello.declares("outputs") != !bench.hello.stages.empty()) {
    throw Broken{bench.hello.declares("outputs") ? "\"outputs\" is declared, but no stage"
                                                 : "stages are declared without \"outputs\"",
                 ""};
  }
  if (!bench.hello.factors.empty() && !bench.hello.declares("load")) {
    throw Broken{"factors are declared without \"load\", which alone can set them", ""};
  }
  return base::join(bench.hello.capabilities, ", ");
}

std::string files_to_hash_exist(Bench& bench) {
  if (bench.hello.files_to_hash.empty()) throw NotDeclared{"no file is named"};
  for (const std::string& file : bench.hello.files_to_hash) {
    const bool readable = std::filesystem::is_regular_file(file) && std::ifstream(file).good();
    if (!readable) throw Broken{"\"" + file + "\" cannot be read", ""};
  }
  return std::to_string(bench.hello.files_to_hash.size()) + " files";
}

std::string version_refused(Bench& bench) {
  Json wrong = hello_request();
  Json versions = Json::array();
  versions.push_back("abba.worker/0");
  wrong.set("versions", versions);
  bench.shared().expect_error(wrong.dump());
  bench.shared().hello();
  return "";
}

void require_description(const Bench& bench,
                         const std::map<std::string, std::string>& surroundings) {
  ProcessSpec spec;
  spec.argv = bench.argv;
  spec.argv.push_back("--describe");
  spec.environment = surroundings;
  const CommandResult result = run_command(spec, bench.options.timeout_s);
  if (result.exit_code != 0) {
    throw Broken{"--describe ended with " + std::to_string(result.exit_code), ""};
  }
  const Json answer = parse_answer(std::string(base::trim(result.output)), "worker");
  if (!(answer == bench.hello.raw)) throw Broken{"--describe differs from hello", ""};
}

std::string describe_equals_hello(Bench& bench) {
  require_description(bench, {});
  return "";
}

// No device is visible to a CUDA program that is told so.
std::string describe_touches_no_device(Bench& bench) {
  require_description(bench, {{"CUDA_VISIBLE_DEVICES", ""}});
  return "";
}

std::string unknown_message_refused(Bench& bench) {
  bench.shared().expect_error(R"({"type":"no-such-message"})");
  bench.shared().hello();
  return "";
}

std::string garbage_survived(Bench& bench) {
  Subject& subject = bench.shared();
  subject.expect_error("this is no JSON");
  subject.expect_error(R"({"type":)");
  subject.expect_error(std::string(200, '['));
  subject.hello();
  return "";
}

std::string large_request_refused(Bench& bench) {
  Json large = hello_request();
  large.set("padding", std::string(kMaxRequestBytes, 'x'));
  bench.shared().expect_error(large.dump());
  bench.shared().hello();
  return "";
}

std::string graph_capture_answered(Bench& bench) {
  bench.require_capability("graph_capture");
  const Json answer = bench.prepared().ask(graph_capture_request(Bench::kWorkload));
  const auto costs = parse_graph_capture(answer, "worker");
  return std::to_string(costs.size()) + (costs.size() == 1 ? " shape" : " shapes");
}

std::string unprepared_capture_refused(Bench& bench) {
  bench.require_capability("graph_capture");
  bench.prepared().expect_error(graph_capture_request("no-such-workload").dump());
  return "";
}

std::string results_kept_by_capture(Bench& bench) {
  bench.require_capability("graph_capture");
  bench.require_capability("outputs");
  Subject& subject = bench.prepared();
  const std::string before = bench.ask_slot(subject, Bench::slot("before")).digest;
  subject.ask(graph_capture_request(Bench::kWorkload));
  if (bench.ask_slot(subject, Bench::slot("after")).digest != before) {
    throw Broken{"slots before and after a capture differ in their digest", ""};
  }
  return record::short_digest(before);
}

std::string serve_answered(Bench& bench) {
  bench.require_capability("serve");
  const Json answer = bench.prepared().ask(Json::object({{"type", "serve"}}));
  const Json* url = answer.find("base_url");
  if (url == nullptr || !url->is_string()) throw Broken{"there is no \"base_url\"", ""};
  for (const char* local : {"http://127.0.0.1:", "http://localhost:", "http://[::1]:"}) {
    if (url->as_string().starts_with(local)) return url->as_string().substr(0, 60);
  }
  throw Broken{"\"" + url->as_string().substr(0, 100) + "\" is no address of this machine", ""};
}

std::string shutdown_answered(Bench& bench) {
  bench.prepared().ask(shutdown_request());
  return "";
}

std::string shutdown_exits_zero(Bench& bench) {
  bench.shared().expect_end(true);
  bench.drop();
  return "";
}

std::string end_of_input_ends(Bench& bench) {
  Subject subject = bench.start();
  subject.hello();
  subject.process().close_input();
  subject.expect_end(false);
  return "";
}

}  // namespace

std::vector<Probe> hello_probes() {
  return {
      {"hello-valid", {}, {"boundaries-nest", "metrics-declared", "factors-declared"}, hello_valid},
      {"capabilities-fit", {"hello-valid"}, {}, capabilities_fit},
      {"files-to-hash-exist", {"hello-valid"}, {}, files_to_hash_exist},
      {"version-refused", {"hello-valid"}, {}, version_refused},
      {"describe-equals-hello", {"hello-valid"}, {}, describe_equals_hello},
      {"describe-touches-no-device", {"describe-equals-hello"}, {}, describe_touches_no_device},
      {"unknown-message-refused", {"hello-valid"}, {}, unknown_message_refused},
      {"garbage-survived", {"hello-valid"}, {}, garbage_survived},
      {"large-request-refused", {"hello-valid"}, {}, large_request_refused},
  };
}

std::vector<Probe> ending_probes() {
  return {
      {"graph-capture-answered", {"prepare-valid"}, {}, graph_capture_answered},
      {"unprepared-capture-refused", {"graph-capture-answered"}, {}, unprepared_capture_refused},
      {"results-kept-by-capture",
       {"graph-capture-answered", "digest-repeatable"},
       {},
       results_kept_by_capture},
      {"serve-answered", {"prepare-valid"}, {}, serve_answered},
      {"shutdown-answered", {"prepare-valid"}, {}, shutdown_answered},
      {"shutdown-exits-zero", {"shutdown-answered"}, {}, shutdown_exits_zero},
      {"end-of-input-ends", {"hello-valid"}, {}, end_of_input_ends},
  };
}

}  // namespace abba::workers
