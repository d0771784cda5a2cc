// abba_parity [--config NAME]... [--checkpoints DIR]: every config x {CPU, CUDA} x {fp32, bf16},
// one line each: the three checks of the numerics page on one drawn batch, longer than a window.
// The double reference judges fp32 and the free runs; branches of bf16 are judged against fp32 on
// the weights a bf16 engine holds. Exit 1 if a line fails, 2 for bad usage.
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

#include "engine/base/error.h"
#include "engine/model/output_check.h"
#include "engine/model/reference_forward.h"
#include "tests/device/known_discrepancies.h"
#include "tests/device/recorded_reference.h"
#include "tests/device/subject.h"

namespace abba::device {
namespace {

constexpr double kFp32Limit = 1e-4;
constexpr std::uint64_t kSeed = 21;

struct References {
  NamedBatch input;
  ops::reference::NetworkRecord exact;
  ops::reference::NetworkRecord rounded;
};

References references_of(const std::string& config) {
  const bool is_tiny = config == "tiny";
  const model::Shape shape = is_tiny ? model::Shape{3, 160, 5} : model::Shape{1, 72, 4};
  References made;
  made.input = {is_tiny ? "random_3x160" : "random_1x72",
                model::random_batch(config_of(config), shape, kSeed)};
  made.exact = model::reference_forward(config_of(config), file_of(config), made.input.batch);
  const int threads = static_cast<int>(std::min(std::thread::hardware_concurrency(), 64U));
  made.rounded =
      record_reference(config_of(config), file_of(config), made.input.batch, true, threads);
  return made;
}

// Prints the line; whether it passes.
bool check(const Subject& subject, const References& references,
           const std::vector<Discrepancy>& known) {
  Instance instance = make_instance(subject);
  const bool is_bf16 = subject.way.precision == Precision::kBf16;
  model::Network& network = *instance.network;
  const model::Batch& batch = references.input.batch;
  model::LaunchPlan& plan = network.prepare(batch.shape);
  const auto forced = model::worst(model::teacher_forced_errors(
      network, plan, batch, is_bf16 ? references.rounded : references.exact));
  const auto free =
      model::worst(model::free_running_errors(network, plan, batch, references.exact));
  Discrepancy pair = discrepancy_of(model::parity_errors(network, plan, batch, references.exact));
  pair.backend = instance.backend->name();
  pair.precision = ops::name_of(subject.way.precision);
  pair.config = subject.config;
  pair.fixture = references.input.name;
  const std::string objection = judge(pair, known);
  const double forced_limit = is_bf16 ? model::kTeacherForcedLimit : kFp32Limit;
  const double free_limit = is_bf16 ? model::kFreeRunningLimit : kFp32Limit;
  const bool passes = forced.nrms <= forced_limit && free.nrms <= free_limit && objection.empty();
  std::printf(
      "%-13s %-9s branches %.2e of %.0e (%s)  free %.2e of %.0e (%s)  seeds' pair: %s  %s\n",
      subject.config.c_str(), name_of(subject.way).c_str(), forced.nrms, forced_limit,
      forced.stage.c_str(), free.nrms, free_limit, free.stage.c_str(),
      pair.nrms < 0.0     ? "met"
      : objection.empty() ? ("not met, as listed: " + pair.stage).c_str()
                          : objection.c_str(),
      passes ? "pass" : "FAIL");
  std::fflush(stdout);
  return passes;
}

bool check_config(const std::string& config, const std::vector<Discrepancy>& known) {
  const References references = references_of(config);
  bool passes = true;
  for (const Way& way : ways()) {
    if (way.kind == Kind::kCuda && !why_no_cuda().empty()) {
      std::printf("%-13s %-9s unavailable: %s\n", config.c_str(), name_of(way).c_str(),
                  why_no_cuda().c_str());
      passes = passes && !is_cuda_required();
      continue;
    }
    passes = check({config, way}, references, known) && passes;
  }
  return passes;
}

}  // namespace

int run_parity(int argc, char** argv) {
  std::vector<std::string> configs;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--config") == 0 && has_value) {
      configs.emplace_back(argv[++i]);
    } else if (std::strcmp(argv[i], "--checkpoints") == 0 && has_value) {
      setenv("ABBA_DEVICE_CHECKPOINTS", argv[++i], 1);
    } else {
      std::fprintf(stderr, "abba_parity: takes --config NAME and --checkpoints DIR, not \"%s\"\n",
                   argv[i]);
      return 2;
    }
  }
  if (configs.empty()) configs = {"tiny", "student", "english", "multilingual", "typed"};
  const std::vector<Discrepancy> known = read_discrepancies(data_path("known_discrepancies.json"));
  bool passes = true;
  for (const std::string& config : configs) {
    const std::string reason = why_not({config, {Kind::kCpu, Precision::kFp32}});
    if (!reason.empty()) throw base::Error(base::ErrorCode::kBadInput, config, reason);
    passes = check_config(config, known) && passes;
  }
  return passes ? 0 : 1;
}

}  // namespace abba::device

int main(int argc, char** argv) {
  try {
    return abba::device::run_parity(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "abba_parity: %s\n", error.what());
    return 2;
  }
}
