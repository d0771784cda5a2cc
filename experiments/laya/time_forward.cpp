// Quick times of a forward pass, for people at work on a kernel: no registration, no order of arms,
// no statistics beyond quantiles, so no number for publication.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/checkpoint/verify.h"
#include "engine/model/network.h"
#include "experiments/laya/commands.h"
#include "experiments/laya/engine_backend.h"
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

void time_shape(model::Network& network, const ShapeText& shape, int count) {
  base::Json sizes = base::Json::array();
  sizes.push_back(shape.rows);
  sizes.push_back(shape.tokens);
  const WorkloadInput input =
      read_workload_input(base::Json::object({{"shape", sizes}, {"seed", std::int64_t{1}}}), "",
                          network.config().pad_token_id, 0);
  const model::Batch& batch = input.batches.front();
  model::LaunchPlan& plan = network.prepare(batch.shape);
  model::Decision decision = network.make_decision(plan);
  std::vector<double> encoder;
  std::vector<double> whole;
  std::int64_t launches = 0;
  for (int i = -count / 5 - 5; i < count; ++i) {
    const std::int64_t before = network.backend().launch_count();
    const Clock::time_point start = Clock::now();
    network.encode(plan, batch);
    const double encoder_ms = ms_since(start);
    launches = network.backend().launch_count() - before;
    network.decide(plan, decision);
    if (i < 0) continue;
    encoder.push_back(encoder_ms);
    whole.push_back(ms_since(start));
  }
  std::printf("%lldx%lld encoder %s; model %s; %lld launches an encoder pass\n",
              static_cast<long long>(shape.rows), static_cast<long long>(shape.tokens),
              quantiles_text(encoder).c_str(), quantiles_text(whole).c_str(),
              static_cast<long long>(launches));
  if (!plan.note.empty()) std::printf("%s\n", plan.note.c_str());
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
  check_factors(levels, settings.backend);
  const auto backend = make_backend(settings);
  model::Network network(checkpoint.config, checkpoint.file, *backend);
  for (const auto& [factor, level] : choices_map(settings.cpu.choices, settings.backend)) {
    std::printf("%s=%s ", factor.c_str(), level.c_str());
  }
  std::printf("on %s, %s\n", backend->product_path().c_str(), options.precision.c_str());
  for (const std::string& text : options.network.shapes) {
    time_shape(network, read_shape(text), options.count);
  }
  std::fputs(memory_text(*backend).c_str(), stdout);
}

}  // namespace abba::laya
