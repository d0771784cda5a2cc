#include <algorithm>
#include <chrono>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/median.h"
#include "engine/base/sha256.h"
#include "engine/base/source_stamp.h"
#include "engine/base/text.h"
#include "engine/checkpoint/verify.h"
#include "engine/model/network.h"
#include "experiments/laya/commands.h"
#include "experiments/laya/engine_backend.h"
#include "experiments/laya/profile.h"
#include "experiments/laya/workload_input.h"

namespace abba::laya {
namespace {

using base::Json;

constexpr int kWarmUps = 10;
constexpr int kRequests = 50;
// Launches that are queued at once: well below where a stream's queue is full and starting blocks.
constexpr std::int64_t kMostQueued = 400;

using Levels = std::map<std::string, std::string>;

Levels read_levels(const std::vector<std::string>& words) {
  Levels levels;
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw base::Error(base::ErrorCode::kBadInput, "profile",
                        "takes levels as FACTOR=LEVEL, not \"" + word + "\"");
    }
    levels[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return levels;
}

// Levels that the backend has; those of another one say nothing about it.
EngineSettings settings_for(const ProfileOptions& options, const Levels& levels) {
  Levels own;
  for (const auto& [factor, level] : levels) {
    const std::string_view owner = ops::variant_table(factor).backend;
    if (owner.empty() || owner == options.backend) own[factor] = level;
  }
  return read_settings(Json::object({{"backend", options.backend}}), read_choices(own));
}

// One network on a recording backend with an input prepared: what a request of the worker is.
class Subject {
 public:
  Subject(const checkpoint::Checkpoint& checkpoint, const EngineSettings& settings,
          const WorkloadInput& input)
      : inner_(make_backend(settings)),
        recording_(*inner_),
        network_(checkpoint.config, checkpoint.file, recording_),
        timer_(device_timer(*inner_)) {
    for (const model::Batch& batch : input.batches) {
      model::check_batch(batch, checkpoint.config);
      model::LaunchPlan& plan = network_.prepare(batch.shape);
      batches_.push_back({&batch, &plan, network_.make_decision(plan)});
    }
  }

  // Milliseconds do not matter here: medians of whole requests and of their encoder boundary.
  void measure(ProfileTotals& totals) {
    std::vector<double> model;
    std::vector<double> encoder;
    for (int i = 0; i < kWarmUps + kRequests; ++i) {
      double encoded_ns = 0;
      const auto start = std::chrono::steady_clock::now();
      for (Prepared& batch : batches_) {
        const auto begin = std::chrono::steady_clock::now();
        network_.encode(*batch.plan, *batch.batch);
        encoded_ns += since_ns(begin);
        network_.decide(*batch.plan, batch.decision);
      }
      if (i < kWarmUps) continue;
      model.push_back(since_ns(start));
      encoder.push_back(encoded_ns);
    }
    totals.model_ns = base::median(model);
    totals.encoder_ns = base::median(encoder);
    totals.requests = kRequests;
  }

  std::vector<ProfileRow> rows(ProfileTotals* totals) {
    recording_.start();
    const std::int64_t before = inner_->launch_count();
    for (Prepared& batch : batches_) {
      network_.encode(*batch.plan, *batch.batch);
      network_.decide(*batch.plan, batch.decision);
    }
    const std::int64_t launches = inner_->launch_count() - before;
    const std::vector<RecordedCall> calls = recording_.stop();
    if (totals != nullptr) {
      totals->launches = launches;
      time_queued(calls, *totals);
    }
    return time_calls(calls, *inner_, timer_, kMostQueued);
  }

 private:
  struct Prepared {
    const model::Batch* batch;
    model::LaunchPlan* plan;
    model::Decision decision;
  };

  static double since_ns(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
  }

  // The operations in their order, in pieces that fit a stream's queue.
  void time_queued(const std::vector<RecordedCall>& calls, ProfileTotals& totals) {
    std::vector<double> device;
    std::vector<double> host;
    for (int round = 0; round < 5; ++round) {
      double device_ns = 0;
      double host_ns = 0;
      for (std::size_t begin = 0; begin < calls.size(); begin += kPiece) {
        const auto piece = [&] {
          for (std::size_t i = begin; i < std::min(calls.size(), begin + kPiece); ++i) {
            if (!calls[i].waits) calls[i].again();
          }
        };
        const auto start = std::chrono::steady_clock::now();
        piece();
        host_ns += since_ns(start);
        inner_->synchronize();
        device_ns += timer_(piece);
      }
      device.push_back(device_ns);
      host.push_back(host_ns);
    }
    totals.queued_ns = *std::min_element(device.begin(), device.end());
    totals.issue_ns = *std::min_element(host.begin(), host.end());
  }

  static constexpr std::size_t kPiece = 200;  // calls; a gated product starts several kernels

  std::unique_ptr<ops::Backend> inner_;
  RecordingBackend recording_;
  model::Network network_;
  DeviceTimer timer_;
  std::vector<Prepared> batches_;
};

Json facts_of(const ProfileOptions& options, const EngineSettings& settings,
              const WorkloadInput& input) {
  Json shapes = Json::array();
  for (const model::Batch& batch : input.batches) {
    Json shape = Json::array();
    shape.push_back(batch.shape.rows);
    shape.push_back(batch.shape.tokens);
    shapes.push_back(std::move(shape));
  }
  Json levels = Json::object();
  for (const auto& [factor, level] : choices_map(settings.cpu.choices, settings.backend)) {
    levels.set(factor, level);
  }
  Json facts = Json::object({{"program", std::string("abba-laya ") + base::source_stamp()}});
  facts.set("checkpoint", std::filesystem::path(options.checkpoint).filename().string());
  facts.set("input", options.input);
  facts.set("shapes", std::move(shapes));
  facts.set("settings", settings_json(settings));
  facts.set("levels", std::move(levels));
  facts.set("device", device_json(settings));
  return facts;
}

}  // namespace

void profile(const ProfileOptions& options) {
  const Levels levels = read_levels(options.levels);
  Levels beside = levels;
  for (const auto& [factor, level] : read_levels(options.beside)) beside[factor] = level;
  const checkpoint::Checkpoint checkpoint(options.checkpoint);
  const WorkloadInput input =
      read_workload_input(base::parse_json(options.input, "--input"), options.fixtures,
                          checkpoint.config.pad_token_id, 0);
  const EngineSettings settings = settings_for(options, levels);
  Profile profile;
  {
    Subject subject(checkpoint, settings, input);
    subject.measure(profile.totals);
    profile.rows = subject.rows(&profile.totals);
  }
  if (beside != levels) {
    Subject other(checkpoint, settings_for(options, beside), input);
    add_reference_rows(profile.rows, other.rows(nullptr));
  }
  const Json facts = facts_of(options, settings, input);
  const std::string json = profile_json(profile, facts).dump_pretty();
  const std::string page = profile_markdown(profile, facts);
  base::write_file_atomically(options.out + ".json", json);
  base::write_file_atomically(options.out + ".md", page);
  std::fputs(page.c_str(), stdout);
  std::printf("evidence: {\"run\": \"%s\"} is %s.json\n", base::sha256_hex(json).c_str(),
              options.out.c_str());
}

}  // namespace abba::laya
