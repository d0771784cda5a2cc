// Rules about load and prepare.
#include <algorithm>

#include "harness/workers/conformance_probe.h"
#include "harness/workers/messages.h"

namespace abba::workers {
namespace {

using base::Json;

bool nothing_given(const ConformanceOptions& options) {
  return options.settings.is_null() && options.files.empty();
}

// A worker may be unable to load without what only its user can name; that is no breach.
std::string load_valid(Bench& bench) {
  bench.require_capability("load");
  bench.forget();
  const Json answer = bench.shared().ask_or_error(load_request(bench.defaults()));
  if (answer_type(answer) == "error") {
    const std::string text = "load was refused: " + answer.dump().substr(0, 300);
    if (!nothing_given(bench.options)) throw Broken{text, ""};
    throw NotGiven{text + "; give what it needs with --file NAME=PATH or --settings JSON"};
  }
  bench.loaded = parse_load(answer, "worker");
  return "";
}

// With these settings the factor may have nothing to act on: then each of its levels is refused,
// with the factor's name.
bool is_refused_by_name(Bench& bench, const record::FactorDecl& factor) {
  bench.forget();
  return std::all_of(factor.levels.begin(), factor.levels.end(), [&](const auto& level) {
    record::LoadRequest request = bench.defaults();
    request.factors[factor.name] = level.name;
    const Json answer = bench.shared().ask_or_error(load_request(request));
    return answer_type(answer) == "error" && answer.dump().find(factor.name) != std::string::npos;
  });
}

std::string default_levels_in_effect(Bench& bench) {
  if (bench.hello.factors.empty()) throw NotDeclared{"no factors"};
  std::string lacking;
  for (const record::FactorDecl& factor : bench.hello.factors) {
    const auto level = bench.loaded.factors.find(factor.name);
    if (level == bench.loaded.factors.end() && is_refused_by_name(bench, factor)) {
      lacking += (lacking.empty() ? "" : ", ") + factor.name;
      continue;
    }
    const std::string found = level == bench.loaded.factors.end() ? "nothing" : level->second;
    if (found != factor.default_level) {
      throw Broken{"the default of " + factor.name + " is " + factor.default_level +
                       ", in effect is " + found,
                   ""};
    }
  }
  return lacking.empty() ? "" : "without effect under these settings: " + lacking;
}

std::string levels_in_effect(Bench& bench) {
  if (bench.hello.factors.empty()) throw NotDeclared{"no factors"};
  bench.forget();
  int loads = 0;
  int refused = 0;
  for (const record::FactorDecl& factor : bench.hello.factors) {
    for (const record::LevelDecl& level : factor.levels) {
      record::LoadRequest request = bench.defaults();
      request.factors[factor.name] = level.name;
      const Json answer = bench.shared().ask_or_error(load_request(request));
      if (answer_type(answer) == "error") {  // this machine may lack what the level needs
        ++refused;
        continue;
      }
      const record::LoadReply reply = parse_load(answer, "worker");
      const auto effective = reply.factors.find(factor.name);
      if (effective == reply.factors.end() || effective->second != level.name) {
        throw Broken{"asked for " + factor.name + " = " + level.name + ", in effect is " +
                         (effective == reply.factors.end() ? "nothing" : effective->second),
                     ""};
      }
      ++loads;
    }
  }
  return std::to_string(loads) + " levels loaded" +
         (refused > 0 ? ", " + std::to_string(refused) + " refused on this machine" : "");
}

std::string settings_in_effect(Bench& bench) {
  if (!bench.options.settings.is_object() || bench.options.settings.as_object().empty()) {
    throw NotDeclared{"no --settings were given"};
  }
  for (const auto& [key, value] : bench.options.settings.as_object()) {
    const Json* effective = bench.loaded.settings.find(key);
    if (effective == nullptr || !(*effective == value)) {
      throw Broken{"asked for " + key + " = " + value.dump() + ", in effect is " +
                       (effective == nullptr ? "nothing" : effective->dump()),
                   ""};
    }
  }
  return "";
}

std::string unknown_factor_refused(Bench& bench) {
  bench.forget();
  record::LoadRequest request = bench.defaults();
  request.factors["no-such-factor"] = "x";
  bench.shared().expect_error(load_request(request).dump());
  return "";
}

std::string unknown_level_refused(Bench& bench) {
  if (bench.hello.factors.empty()) throw NotDeclared{"no factors"};
  bench.forget();
  record::LoadRequest request = bench.defaults();
  request.factors[bench.hello.factors.front().name] = "no-such-level";
  bench.shared().expect_error(load_request(request).dump());
  return "";
}

std::string missing_file_refused(Bench& bench) {
  if (bench.options.files.empty()) throw NotDeclared{"no --file was given"};
  bench.forget();
  for (const auto& [name, path] : bench.options.files) {
    record::LoadRequest request = bench.defaults();
    request.files[name] = path + ".does-not-exist";
    bench.shared().expect_error(load_request(request).dump());
  }
  return "";
}

std::string device_named(Bench& bench) {
  const std::string uuid = bench.loaded.device.text_or_empty("uuid");
  if (!uuid.empty()) return uuid;
  if (bench.options.require_device) {
    throw Broken{"a CUDA device is required, but the load reply names no device UUID", ""};
  }
  throw NotDeclared{"no device is required (--require cuda)"};
}

std::string prepare_valid(Bench& bench) {
  Subject& subject = bench.shared();
  bench.forget();
  bench.load_defaults(subject);
  const Json answer = subject.ask_or_error(prepare_request(bench.workload(), 7));
  if (answer_type(answer) == "error") {
    const std::string text = "prepare was refused: " + answer.dump().substr(0, 300);
    const Json* form = bench.hello.raw.find("workload_form");
    const bool is_asked_for = !bench.options.workload_input_json.empty();
    if (is_asked_for || (form != nullptr && form->find("example") != nullptr)) {
      throw Broken{text, is_asked_for ? "" : "example-accepted"};
    }
    throw NotGiven{text + "; hello gives no example of an input, so give one with --input JSON"};
  }
  bench.readiness = parse_prepare(answer, "worker");
  return "";
}

std::string prepare_answers_a_request(Bench& bench) {
  if (bench.readiness.first_request_ns < 0) throw Broken{"\"first_request_ns\" is negative", ""};
  return "";
}

// Where --input stands in for the example, the example is tried here.
std::string example_accepted(Bench& bench) {
  const Json* form = bench.hello.raw.find("workload_form");
  const Json* example = form == nullptr ? nullptr : form->find("example");
  if (example == nullptr) throw NotDeclared{"hello gives no example"};
  record::Workload workload = bench.workload();
  workload.input = *example;
  workload.boundaries.clear();  // --boundary is of --input
  bench.forget();
  bench.shared().ask(prepare_request(workload, 7));
  return "";
}

std::string bad_prepare_refused(Bench& bench) {
  bench.forget();
  bench.shared().expect_error(R"({"type":"prepare"})");
  bench.shared().expect_error(R"({"type":"prepare","workload":{"input":null}})");
  bench.shared().hello();
  return "";
}

std::string load_forgets_workloads(Bench& bench) {
  bench.require_capability("load");
  Subject& subject = bench.prepared();
  bench.forget();
  subject.ask(load_request(bench.defaults()));
  subject.expect_error(slot_request(Bench::slot("forgotten")).dump());
  return "";
}

}  // namespace

std::vector<Probe> load_probes() {
  return {
      {"load-valid", {"hello-valid", "capabilities-fit"}, {}, load_valid},
      {"default-levels-in-effect", {"load-valid"}, {}, default_levels_in_effect},
      {"levels-in-effect", {"load-valid"}, {}, levels_in_effect},
      {"settings-in-effect", {"load-valid"}, {}, settings_in_effect},
      {"unknown-factor-refused", {"load-valid"}, {}, unknown_factor_refused},
      {"unknown-level-refused", {"load-valid"}, {}, unknown_level_refused},
      {"missing-file-refused", {"load-valid"}, {}, missing_file_refused},
      {"device-named", {"load-valid"}, {}, device_named},
  };
}

std::vector<Probe> prepare_probes() {
  return {
      {"prepare-valid", {"load-valid"}, {"prepare-ready"}, prepare_valid},
      {"prepare-answers-a-request", {"prepare-valid"}, {}, prepare_answers_a_request},
      {"example-accepted", {"prepare-valid"}, {}, example_accepted},
      {"bad-prepare-refused", {"prepare-valid"}, {}, bad_prepare_refused},
      {"load-forgets-workloads", {"prepare-valid"}, {}, load_forgets_workloads},
  };
}

}  // namespace abba::workers
