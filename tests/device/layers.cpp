// abba_layers --config NAME --fixture NAME --backend cpu|cuda --precision fp32|bf16 --out FILE: one
// fixture through the engine, every stage written as float32 to a safetensors file, for comparison
// with other implementations (tests/reference/parity_bisector.py). Checkpoints as for device_tests.
#include <cstdio>
#include <exception>
#include <map>

#include "engine/base/error.h"
#include "engine/checkpoint/safetensors_writer.h"
#include "tests/device/first_divergence.h"
#include "tests/device/subject.h"

namespace abba::device {
namespace {

using Options = std::map<std::string, std::string>;

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  for (const char* name : {"--config", "--fixture", "--backend", "--precision", "--out"}) {
    if (options.count(name) == 0 || options.size() != 5 || argc != 11) {
      throw base::Error(base::ErrorCode::kBadInput, "",
                        "takes --config, --fixture, --backend, --precision and --out, each with "
                        "a value, and nothing else");
    }
  }
  return options;
}

NamedBatch fixture_of(const std::string& config, const std::string& name) {
  std::string known;
  for (NamedBatch& input : fixtures(config)) {
    if (input.name == name) return std::move(input);
    known += " " + input.name;
  }
  throw base::Error(base::ErrorCode::kBadInput, name, "is no fixture; there are" + known);
}

void write(const Recording& recording, const std::string& path) {
  std::vector<checkpoint::TensorInfo> infos;
  for (const StageValues& stage : recording) {
    const auto rows = static_cast<std::int64_t>(stage.values.size()) / stage.columns;
    infos.push_back({stage.name, DType::kF32, Shape{rows, stage.columns}});
  }
  checkpoint::SafetensorsWriter writer(path, infos, {});
  for (std::size_t i = 0; i < recording.size(); ++i) {
    writer.write(i, 0, recording[i].values.data(), recording[i].values.size() * sizeof(float));
  }
  writer.finish();
}

void run(const Options& options) {
  Subject subject{options.at("--config"),
                  {options.at("--backend") == "cuda" ? Kind::kCuda : Kind::kCpu,
                   ops::precision_by_name(options.at("--precision"))}};
  const std::string reason = why_not(subject);
  if (!reason.empty()) throw base::Error(base::ErrorCode::kPreflight, subject.config, reason);
  ops::Choices choices;
  choices.head_last_layer = ops::HeadLastLayer::kAllTokens;  // every stage in token rows
  Instance instance = make_instance(subject, choices);
  const NamedBatch input = fixture_of(subject.config, options.at("--fixture"));
  model::LaunchPlan& plan = instance.network->prepare(input.batch.shape);
  model::Decision decision = instance.network->make_decision(plan);
  Recorder recorder(input.batch);
  instance.network->encode(plan, input.batch, &recorder);
  instance.network->decide(plan, decision, &recorder);
  write(recorder.recording, options.at("--out"));
}

}  // namespace
}  // namespace abba::device

int main(int argc, char** argv) {
  try {
    abba::device::run(abba::device::read_options(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "abba_layers: %s\n", error.what());
    return 2;
  }
}
