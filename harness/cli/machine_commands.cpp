// Commands about the machine, workers and the other program.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/host/device_choice.h"
#include "harness/host/device_lock.h"
#include "harness/host/doctor.h"
#include "harness/workers/conformance.h"

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
  workers::ConformanceOptions with;
  with.device = device.uuid();
  with.require_device = !options.require.empty();
  with.workload_input_json = options.input;
  const auto rows = workers::conformance(options.words, with);
  int failed = 0;
  for (const auto& row : rows) {
    failed += !row.passed && !row.skipped ? 1 : 0;
    print(std::string(row.skipped  ? "  --    "
                      : row.passed ? "  ok    "
                                   : "  FAIL  ") +
          row.rule + (row.detail.empty() ? "" : ": " + row.detail) + "\n");
  }
  if (!workers::conforms(rows)) {
    throw Error(ErrorCode::kEvidence, options.words.front(),
                std::to_string(failed) + " of " + std::to_string(rows.size()) +
                    " rules of abba.worker/1 are broken; see the rows above");
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
