// Commands about the machine, workers and the other program.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/completion_script.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/host/device_choice.h"
#include "harness/host/device_lock.h"
#include "harness/host/doctor.h"
#include "harness/workers/conformance.h"
#include "harness/workers/conformance_rules.h"

namespace abba::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;

const char* health_text(host::Health health) {
  switch (health) {
    case host::Health::kGood:
      return "good";
    case host::Health::kLimited:
      return "limited";
    case host::Health::kMissing:
      return "missing";
  }
  return "missing";
}

// The device for the workers of one command, reserved while this lives; they inherit it.
class WorkersDevice {
 public:
  explicit WorkersDevice(const Options& options) {
    record::DeviceWish wish;
    wish.wanted = !options.device.empty()   ? options.device
                  : options.require.empty() ? "none"
                                            : "any";
    host::SystemClock clock;
    const auto probe = host::open_device_probe();
    const auto folder = host::device_lock_folder();
    const auto choice = host::choose_device(
        wish, *probe, clock,
        [&folder](const std::string& uuid) { return host::device_holder(folder, uuid); });
    if (!choice.chosen()) {
      return;
    }
    uuid_ = choice.uuid;
    lock_ = std::make_unique<host::DeviceLock>(folder, uuid_, base::utc_text(clock.utc_seconds()));
    ::setenv("CUDA_VISIBLE_DEVICES", uuid_.c_str(), 1);
  }
  [[nodiscard]] std::string uuid() const { return uuid_.empty() ? "none" : uuid_; }

 private:
  std::string uuid_;
  std::unique_ptr<host::DeviceLock> lock_;
};

workers::ConformanceOptions conformance_options(const Options& options, const std::string& device) {
  workers::ConformanceOptions with;
  with.timeout_s = options.timeout_s;
  with.device = device;
  with.require_device = !options.require.empty();
  with.workload_input_json = options.input;
  with.boundary = options.boundary;
  if (!options.settings.empty()) {
    with.settings = base::parse_json(options.settings, "--settings");
    if (!with.settings.is_object()) {
      throw Error(ErrorCode::kBadInput, "--settings", "is no JSON object, like '{\"threads\": 1}'");
    }
  }
  for (const std::string& file : options.files) {
    const std::size_t equals = file.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == file.size()) {
      throw Error(ErrorCode::kBadInput, "--file", "\"" + file + "\" is not of the form NAME=PATH");
    }
    with.files[file.substr(0, equals)] =
        std::filesystem::absolute(file.substr(equals + 1)).lexically_normal().string();
  }
  return with;
}

Json json_of(const workers::ConformanceReport& report) {
  Json rows = Json::array();
  const auto rules = workers::conformance_rules();
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const auto& row = report.rows[i];
    rows.push_back(Json::object({{"rule", row.rule},
                                 {"demand", rules[i].demand},
                                 {"state", workers::name(row.state)},
                                 {"detail", row.detail}}));
  }
  return Json::object({{"schema", "abba.worker-check/1"},
                       {"protocol", "abba.worker/1"},
                       {"ok", report.count(workers::Conformance::kOk)},
                       {"broken", report.count(workers::Conformance::kBroken)},
                       {"not_checked", report.count(workers::Conformance::kNotChecked)},
                       {"missing", report.missing},
                       {"rules", std::move(rows)}});
}

// What is broken says also what was demanded; the rest is one line each.
std::string text_of(const workers::ConformanceReport& report) {
  std::string text;
  const auto rules = workers::conformance_rules();
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const auto& row = report.rows[i];
    const std::string state(workers::name(row.state));
    text += "  " + state + std::string(13 - state.size(), ' ') + row.rule;
    text += row.detail.empty() ? "\n" : ": " + row.detail + "\n";
    if (row.state == workers::Conformance::kBroken) {
      text += std::string(15, ' ') + "demanded: " + std::string(rules[i].demand) + "\n";
    }
  }
  return text + std::to_string(report.count(workers::Conformance::kOk)) + " ok, " +
         std::to_string(report.count(workers::Conformance::kBroken)) + " broken, " +
         std::to_string(report.count(workers::Conformance::kNotChecked)) + " not checked\n";
}

}  // namespace

int doctor_command(const Options& options) {
  const auto probe = host::open_device_probe();
  const auto project = manifest::find_project(std::filesystem::current_path());
  Json json = Json::array();
  for (const auto& finding : host::doctor(project.root, *probe)) {
    const std::string health = health_text(finding.health);
    json.push_back(Json::object({{"topic", finding.topic},
                                 {"health", health},
                                 {"text", finding.text},
                                 {"advice", finding.advice}}));
    if (!options.json) {
      print(health + std::string(9 - health.size(), ' ') + finding.topic + ": " + finding.text +
            (finding.advice.empty() ? "" : "; " + finding.advice) + "\n");
    }
  }
  if (options.json) {
    print(json.dump_pretty());
  }
  return kDone;
}

int worker_check_command(const Options& options) {
  const WorkersDevice device(options);
  const auto with = conformance_options(options, device.uuid());
  const auto report = workers::conformance(options.words, with);
  print(options.json ? json_of(report).dump_pretty() : text_of(report));
  const int broken = report.count(workers::Conformance::kBroken);
  if (broken > 0) {
    throw Error(ErrorCode::kEvidence, options.words.front(),
                std::to_string(broken) + " of " + std::to_string(report.rows.size()) +
                    " rules of abba.worker/1 are broken; see the rows above");
  }
  if (!report.missing.empty()) {
    throw Error(ErrorCode::kBadInput, options.words.front(),
                "no slot could be tried: " + report.missing);
  }
  return kDone;
}

int laya_command(const Options& options) {
  const std::string program = laya_beside_abba().string();
  std::vector<std::string> words = options.words;
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  if (errno == ENOENT) {
    throw Error(ErrorCode::kBadInput, program,
                "does not exist: the embedded engine is a program of its own; build it with "
                "-DABBA_ENGINE=ON or put abba-laya beside abba");
  }
  throw Error(ErrorCode::kBroken, program, "cannot be started: " + base::errno_text(errno));
}

int completions_command(const Options& options) {
  print(completion_script(options.shell));
  return kDone;
}

}  // namespace abba::cli
