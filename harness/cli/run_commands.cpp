// `abba run` and `abba try`.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/cli/command_words.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/execute.h"
#include "harness/cli/registration.h"
#include "harness/manifest/parse.h"

namespace abba::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;

bool is_registered(const Loaded& loaded) {
  std::error_code ignored;
  return std::filesystem::exists(manifest::lock_path(loaded.manifest.path), ignored);
}

Json words_json(const std::vector<std::string>& words) {
  Json array = Json::array();
  for (const auto& word : words) {
    array.push_back(word);
  }
  return array;
}

Json arm_json(const std::string& command, const Options& options) {
  const bool speaks = options.reads == "protocol";
  Json arm = Json::object({{speaks ? "worker" : "program", words_json(command_words(command))}});
  if (!speaks) {
    arm.set("reads", options.reads);
  }
  return arm;
}

// The manifest that a person would have written for these two commands.
Json try_manifest(const Options& options) {
  Json arms = Json::object();
  arms.set("A", arm_json(options.words[0], options));
  arms.set("B", arm_json(options.words[1], options));
  Json workload = Json::object({{"id", "it"}});
  workload.set("input", options.input.empty() ? Json("as it is")
                                              : base::parse_json(options.input, "--input"));
  Json protocol = Json::object({{"preset", "quick"}, {"passes", options.passes}});
  if (options.requests > 0) {
    protocol.set("slot", Json::object({{"requests", options.requests}, {"warmup", 1}}));
  }
  Json workloads = Json::array();
  workloads.push_back(std::move(workload));
  return Json::object(
      {{"id", "try"},
       {"hypothesis", "the second command takes another time than the first"},
       {"independent_variable", options.words[0] == options.words[1] ? "none" : "worker"},
       {"arms", std::move(arms)},
       {"workloads", std::move(workloads)},
       {"device", options.device.empty() ? "none" : options.device},
       {"outputs", options.reads == "protocol" ? "bitwise" : "none"},
       {"protocol", std::move(protocol)},
       {"success", Json::object({{"claim", "faster"}})}});
}

}  // namespace

int run_command(const Options& options) {
  if (options.exploratory && options.do_register) {
    throw Error(ErrorCode::kBadInput, "",
                "--exploratory and --register exclude each other; choose one");
  }
  if (options.resume && !options.output.empty()) {
    throw Error(ErrorCode::kBadInput, "",
                "--resume goes on in the file it began, so --output has no place beside it");
  }
  Execution execution;
  execution.loaded = load_manifest(options.manifest, options.rehash);
  execution.manifest_text = base::read_file(options.manifest);
  if (options.do_register && !options.resume) {
    execution.registered_just_now = !is_registered(execution.loaded);
    execution.lock = register_now(execution.loaded, "").registration;
  } else if (!options.exploratory) {
    execution.lock = registration_of(execution.loaded);
  }
  execution.resume = options.resume;
  execution.resume_file = options.resume_file;
  execution.output = options.output;
  execution.quiet = options.quiet;
  execution.require_device = options.require == "cuda";
  return execute(execution);
}

int try_command(const Options& options) {
  Execution execution;
  const Json declared = try_manifest(options);
  execution.manifest_text = declared.dump_pretty();
  const auto parsed = manifest::parse_text(execution.manifest_text, "");
  if (!parsed.ok()) {
    throw manifest::MistakesError("try", parsed.mistakes);
  }
  execution.loaded.manifest = *parsed.manifest;
  execution.loaded.project = manifest::find_project(std::filesystem::current_path());
  execution.kind = manifest::AttemptKind::kTried;
  execution.require_device = options.require == "cuda";
  execution.quiet = options.quiet;
  return execute(execution);
}

}  // namespace abba::cli
