#include "tests/device/subject.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

#include "engine/model/reference_forward.h"
#include "experiments/laya/workload_input.h"
#include "tests/device/first_divergence.h"
#include "tests/device/recorded_reference.h"
#include "tests/unit/model/tiny_checkpoint.h"

namespace abba::device {
namespace {

constexpr std::int64_t kCheckedTokens = 1024;
constexpr std::int64_t kCheckedTokensOfHost = 256;

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::string folder_of(const std::string& config) {
  return environment("ABBA_DEVICE_CHECKPOINTS") + "/" + config;
}

const checkpoint::Checkpoint& opened(const std::string& config) {
  static std::map<std::string, std::unique_ptr<checkpoint::Checkpoint>> open;
  auto& found = open[config];
  if (!found) found = std::make_unique<checkpoint::Checkpoint>(folder_of(config));
  return *found;
}

// A quarter of the CPUs: ctest runs four of the tests that compute for long at once.
int host_threads() {
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency() / 4, 1U, 64U));
}

}  // namespace

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const Way& way : ways()) all.push_back({"tiny", way});
  for (const char* config : {"student", "english", "multilingual", "typed"}) {
    for (const Way& way : cuda_ways()) all.push_back({config, way});
  }
  return all;
}

std::vector<Subject> bf16_subjects() {
  std::vector<Subject> all = subjects();
  std::erase_if(all, [](const Subject& s) { return s.way.precision != Precision::kBf16; });
  return all;
}

std::string subject_name(const testing::TestParamInfo<Subject>& info) {
  return info.param.config + "_" + name_of(info.param.way);
}

std::string why_not(const Subject& subject) {
  if (subject.way.kind == Kind::kCuda && !why_no_cuda().empty()) return why_no_cuda();
  if (subject.config == "tiny") return {};
  if (environment("ABBA_DEVICE_CHECKPOINTS").empty()) {
    return "ABBA_DEVICE_CHECKPOINTS names no folder of checkpoints (./dev gpu-test makes one)";
  }
  if (!std::filesystem::exists(folder_of(subject.config) + "/model.safetensors")) {
    return "there is no checkpoint in " + folder_of(subject.config) +
           "; make it with abba-laya checkpoint make --config " + subject.config;
  }
  return {};
}

const checkpoint::ModelConfig& config_of(const std::string& name) {
  if (name == "tiny") return model::testing::TinyCheckpoint::instance().config();
  return opened(name).config;
}

const checkpoint::SafetensorsFile& file_of(const std::string& name) {
  if (name == "tiny") return model::testing::TinyCheckpoint::instance().file();
  return opened(name).file;
}

std::string data_path(const std::string& name) {
  const std::string data = environment("ABBA_DEVICE_DATA");
  if (!data.empty()) return data + "/" + name;
  return name == "fixtures" ? ABBA_FIXTURES_DIR : std::string(ABBA_DEVICE_DIR) + "/" + name;
}

std::vector<NamedBatch> fixtures(const std::string& config) {
  std::vector<NamedBatch> all;
  for (const char* name :
       {"choice", "score", "short_1", "short_3", "medium_1", "medium_3", "long_1", "long_3",
        "negative_3", "conversation_3", "truncated_3", "single_option", "mixed_16"}) {
    const base::Json input = base::Json::object({{"fixture", name}});
    laya::WorkloadInput read =
        laya::read_workload_input(input, data_path("fixtures"), config_of(config).pad_token_id, 0);
    ABBA_CHECK(read.batches.size() == 1);
    all.push_back({name, std::move(read.batches.front())});
  }
  return all;
}

std::vector<NamedBatch> checked_fixtures(const Subject& subject) {
  std::vector<NamedBatch> some = fixtures(subject.config);
  if (environment("ABBA_DEVICE_THOROUGH") == "1") return some;
  const std::int64_t most = subject.way.kind == Kind::kCuda ? kCheckedTokens : kCheckedTokensOfHost;
  std::erase_if(some, [most](const NamedBatch& input) {
    return input.batch.shape.rows * input.batch.shape.tokens > most;
  });
  return some;
}

Instance make_instance(const Subject& subject, const ops::Choices& choices) {
  Instance made;
  made.backend = make_backend(subject.way, choices, subject.config == "tiny" ? 1 : host_threads());
  made.network = std::make_unique<model::Network>(config_of(subject.config),
                                                  file_of(subject.config), *made.backend);
  return made;
}

const ops::reference::NetworkRecord& reference_of(const std::string& config,
                                                  const NamedBatch& input, bool round_weights) {
  static std::map<std::string, ops::reference::NetworkRecord> records;
  const std::string key = config + "/" + input.name + (round_weights ? "/rounded" : "/exact");
  const auto found = records.find(key);
  if (found != records.end()) return found->second;
  auto record = config == "tiny"
                    ? model::reference_forward(config_of(config), file_of(config), input.batch,
                                               {.round_weights = round_weights})
                    : record_reference(config_of(config), file_of(config), input.batch,
                                       round_weights, host_threads());
  return records.emplace(key, std::move(record)).first->second;
}

bool same_bits(const Outcome& a, const Outcome& b) {
  const auto same = [](const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  };
  return same(a.logits, b.logits) && same(a.actions, b.actions) && same(a.hidden, b.hidden);
}

void NetworkTest::SetUp() {
  const std::string reason = why_not(GetParam());
  if (reason.empty()) return;
  if (is_cuda_required()) FAIL() << "ABBA_REQUIRE_CUDA=1, but " << reason;
  GTEST_SKIP() << reason;
}

void NetworkTest::expect_same_bits(Instance& first, Instance& second, const NamedBatch& input) {
  if (same_bits(model::testing::run(*first.network, input.batch),
                model::testing::run(*second.network, input.batch))) {
    return;
  }
  Recorder a(input.batch);
  Recorder b(input.batch);
  for (const auto& [instance, tap] : {std::pair{&first, &a}, std::pair{&second, &b}}) {
    model::LaunchPlan& plan = instance->network->prepare(input.batch.shape);
    model::Decision decision = instance->network->make_decision(plan);
    instance->network->encode(plan, input.batch, tap);
    instance->network->decide(plan, decision, tap);
  }
  std::string where = "the recordings have other stages' sizes";
  bool comparable = a.recording.size() == b.recording.size();
  for (std::size_t i = 0; comparable && i < a.recording.size(); ++i) {
    comparable = a.recording[i].values.size() == b.recording[i].values.size();
  }
  if (comparable) {
    const auto found = first_divergence(a.recording, b.recording, input.batch);
    where = found ? text_of(*found) : "the recorded repetition shows no difference";
  }
  ADD_FAILURE() << input.name << ": bits differ, first at " << where;
}

}  // namespace abba::device
