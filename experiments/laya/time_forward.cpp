// Quick times of a forward pass, for people at work on a kernel: no registration, no order of arms,
// no statistics beyond quantiles, so no number for publication.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/median.h"
#include "engine/checkpoint/verify.h"
#include "engine/model/network.h"
#include "experiments/laya/commands.h"
#include "experiments/laya/engine_backend.h"
#include "experiments/laya/recording_backend.h"
#include "experiments/laya/workload_input.h"

namespace abba::laya {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::map<std::string, std::string> levels_of(const std::vector<std::string>& factors) {
  std::map<std::string, std::string> levels;
  for (const std::string& text : factors) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      throw base::Error(base::ErrorCode::kBadInput, "--factor",
                        "is \"" + text + "\", accepted is FACTOR=LEVEL");
    }
    levels[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return levels;
}

std::string quantiles_text(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  char text[96];
  std::snprintf(text, sizeof text, "min %.4f p50 %.4f p90 %.4f ms", ms.front(), ms[ms.size() / 2],
                ms[ms.size() * 9 / 10]);
  return text;
}

model::Batch batch_of(const ShapeText& shape, std::int64_t pad_id) {
  base::Json sizes = base::Json::array();
  sizes.push_back(shape.rows);
  sizes.push_back(shape.tokens);
  return read_workload_input(base::Json::object({{"shape", sizes}, {"seed", std::int64_t{1}}}), "",
                             pad_id, 0)
      .batches.front();
}

struct Times {
  std::vector<double> encoder_ms;
  std::vector<double> model_ms;
  std::int64_t launches = 0;  // of an encoder pass
};

Times time_passes(model::Network& network, model::LaunchPlan& plan, const model::Batch& batch,
                  int count) {
  model::Decision decision = network.make_decision(plan);
  Times times;
  for (int i = -count / 5 - 5; i < count; ++i) {
    const std::int64_t before = network.backend().launch_count();
    const Clock::time_point start = Clock::now();
    network.encode(plan, batch);
    const double encoder_ms = ms_since(start);
    times.launches = network.backend().launch_count() - before;
    network.decide(plan, decision);
    if (i < 0) continue;
    times.encoder_ms.push_back(encoder_ms);
    times.model_ms.push_back(ms_since(start));
  }
  return times;
}

// Each operation of one pass by itself, all its calls in a row, many rounds without a wait between:
// `whole` is what one takes then, `host` what starting one takes. Where the two are alike, the
// device waits for the host.
void profile_operations(RecordingBackend& backend, model::Network& network, model::LaunchPlan& plan,
                        const model::Batch& batch, double forward_ms) {
  constexpr int kRounds = 20;
  network.upload(plan, batch);
  backend.start();
  network.run_encoder(plan);
  double explained_us = 0.0;
  for (const RecordedOperation& operation : by_operation(backend.stop())) {
    const std::string name = operation.call.op + " " + operation.call.shape;
    std::vector<double> whole_us;
    std::vector<double> host_us;
    const auto calls = static_cast<double>(operation.calls.size());
    for (int round = 0; round < kRounds; ++round) {
      const Clock::time_point start = Clock::now();
      for (const auto& call : operation.calls) call();
      host_us.push_back(1e3 * ms_since(start) / calls);
      backend.synchronize();
      whole_us.push_back(1e3 * ms_since(start) / calls);
    }
    const double each_us = base::median(whole_us);
    explained_us += each_us * calls;
    std::printf("  %-44s %4d calls, %8.2f us each (host %6.2f), %5.1f %% of the pass\n",
                name.c_str(), static_cast<int>(operation.calls.size()), each_us,
                base::median(host_us), 100.0 * each_us * calls / (1e3 * forward_ms));
  }
  std::printf("  %-44s %37.2f us of %.2f, %5.1f %% of the pass\n", "all of these", explained_us,
              1e3 * forward_ms, 100.0 * explained_us / (1e3 * forward_ms));
}

void time_shape(RecordingBackend& backend, model::Network& network, const ShapeText& shape,
                const TimeForward& options) {
  const model::Batch batch = batch_of(shape, network.config().pad_token_id);
  model::LaunchPlan& plan = network.prepare(batch.shape);
  const Times times = time_passes(network, plan, batch, options.count);
  std::printf("%lldx%lld encoder %s; model %s; %lld launches an encoder pass\n",
              static_cast<long long>(shape.rows), static_cast<long long>(shape.tokens),
              quantiles_text(times.encoder_ms).c_str(), quantiles_text(times.model_ms).c_str(),
              static_cast<long long>(times.launches));
  if (!plan.note.empty()) std::printf("%s\n", plan.note.c_str());
  if (options.by_operation) {
    profile_operations(backend, network, plan, batch, base::median(times.encoder_ms));
  }
}

}  // namespace

void time_forward(const TimeForward& options) {
  const checkpoint::Checkpoint checkpoint(options.network.checkpoint);
  EngineSettings settings;
  settings.backend = options.backend;
  settings.device = options.network.device;
  settings.cpu.threads = options.threads;
  settings.cpu.precision = ops::precision_by_name(options.precision);
  const auto levels = levels_of(options.factors);
  settings.cpu.choices = read_choices(levels);
  check_factors(names_of(levels), settings.backend);
  const auto real = make_backend(settings);
  RecordingBackend backend(*real);
  model::Network network(checkpoint.config, checkpoint.file, backend);
  for (const auto& [factor, level] : choices_map(settings.cpu.choices, settings.backend)) {
    std::printf("%s=%s ", factor.c_str(), level.c_str());
  }
  std::printf("on %s, %s\n", real->product_path().c_str(), options.precision.c_str());
  for (const std::string& text : options.network.shapes) {
    time_shape(backend, network, read_shape(text), options);
  }
  std::fputs(memory_text(*real).c_str(), stdout);
}

}  // namespace abba::laya
