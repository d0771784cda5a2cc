#include "harness/calibration/noise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/stats/analyze.h"
#include "harness/stats/estimators.h"
#include "harness/stats/measured.h"

namespace abba::calibration {
namespace {

constexpr int kMostBlocks = 64;
constexpr double kNsPerS = 1e9;

// What is pooled before it becomes a WorkloadNoise.
struct Pool {
  WorkloadNoise noise;
  double pass_squares = 0;  // sum of squares about each run's mean
  int pass_freedom = 0;
  double block_squares = 0;  // about each pass's mean
  int block_freedom = 0;
  std::vector<double> block_s;
  std::vector<double> start_s;
  std::vector<double> request_ns;
};

void add_squares(const std::vector<double>& values, double& squares, int& freedom) {
  if (values.size() < 2) {
    return;
  }
  const double sd = stats::standard_deviation(values);
  const int own = static_cast<int>(values.size()) - 1;
  squares += sd * sd * own;
  freedom += own;
}

// B minus A of one block on the log scale; nothing if an arm has no time.
bool block_contrast(const record::Block& block, const stats::Measure& measure, double& contrast) {
  std::vector<double> arms[2];
  for (const record::Slot& slot : block.slots) {
    const auto values = stats::slot_values(slot, block, measure).values;
    if (!values.empty()) {
      arms[slot.arm == "B" ? 1 : 0].push_back(stats::slot_summary(values, measure));
    }
  }
  if (arms[0].empty() || arms[1].empty()) {
    return false;
  }
  contrast = stats::mean(arms[1]) - stats::mean(arms[0]);
  return true;
}

void add_blocks(const record::RunRecord& run, const std::string& workload, Pool& pool) {
  const stats::Measure measure = stats::primary_measure(run);
  for (const record::Pass* pass : stats::counted_passes(run)) {
    std::vector<double> contrasts;
    for (const record::Block* block : stats::clean_blocks(*pass, workload)) {
      double contrast = 0;
      if (!block_contrast(*block, measure, contrast)) {
        continue;
      }
      contrasts.push_back(contrast);
      pool.block_s.push_back(
          static_cast<double>(block->slots.back().end_ns - block->slots.front().start_ns) /
          kNsPerS);
      for (const record::Slot& slot : block->slots) {
        for (const double value : stats::slot_values(slot, *block, measure).values) {
          pool.request_ns.push_back(value);
        }
      }
    }
    add_squares(contrasts, pool.block_squares, pool.block_freedom);
  }
}

// Both workers of a pass, from their own account of what starting took.
void add_starts(const record::RunRecord& run, Pool& pool) {
  std::map<int, double> by_pass;
  for (const record::WorkerProcess& worker : run.workers) {
    by_pass[worker.pass] += ready_seconds(worker);
  }
  for (const auto& [pass, seconds] : by_pass) {
    if (pass >= 0 && seconds > 0) {
      pool.start_s.push_back(seconds);
    }
  }
}

double median_or_zero(std::vector<double> values) {
  return values.empty() ? 0 : stats::median(std::move(values));
}

WorkloadNoise finished(Pool pool) {
  WorkloadNoise noise = pool.noise;
  noise.pass_sd = pool.pass_freedom > 0 ? std::sqrt(pool.pass_squares / pool.pass_freedom) : 0;
  noise.block_sd = pool.block_freedom > 0 ? std::sqrt(pool.block_squares / pool.block_freedom) : 0;
  noise.block_s = median_or_zero(std::move(pool.block_s));
  noise.pass_s = median_or_zero(std::move(pool.start_s));
  noise.request_ns = median_or_zero(std::move(pool.request_ns));
  return noise;
}

}  // namespace

double ready_seconds(const record::WorkerProcess& worker) {
  double seconds = 0;
  for (const auto& [what, ns] : worker.setup_ns) {
    seconds += ns / kNsPerS;
  }
  return seconds;
}

std::string subject_of(const record::Manifest& manifest) {
  std::string text = manifest.settings.canonical();
  for (const record::FileDecl& file : manifest.files) {
    text += "\n" + file.name + " " + (file.sha256.empty() ? file.path : file.sha256);
  }
  for (const std::string& word : manifest.worker) {
    text += "\n" + word;
  }
  return text;
}

bool tells_noise(const record::RunRecord& run) {
  return run.state == record::RunState::kFinished && stats::complete_passes(run) >= 2 &&
         run.manifest.protocol.workers == record::WorkerReuse::kFreshPerPass &&
         stats::analyze(run).same_hash_law;
}

std::vector<WorkloadNoise> noise_of(const std::vector<record::RunRecord>& runs) {
  using Key = std::tuple<std::string, std::string, std::string, record::Order, int>;
  std::vector<Key> order;
  std::map<Key, Pool> pools;
  for (const record::RunRecord& run : runs) {
    if (!tells_noise(run)) {
      continue;
    }
    const auto& protocol = run.manifest.protocol;
    const std::string subject = subject_of(run.manifest);
    for (const record::Verdict& verdict : stats::analyze(run).verdicts) {
      if (verdict.pass_effects.size() < 2) {
        continue;
      }
      const Key key{verdict.workload, verdict.boundary, subject, protocol.order, protocol.blocks};
      if (pools.count(key) == 0) {
        order.push_back(key);
        pools[key].noise = {verdict.workload, subject,        {},
                            verdict.boundary, protocol.order, protocol.blocks};
      }
      Pool& pool = pools[key];
      ++pool.noise.runs;
      pool.noise.manifests.insert(run.manifest.id);
      pool.noise.passes += static_cast<int>(verdict.pass_effects.size());
      add_squares(verdict.pass_effects, pool.pass_squares, pool.pass_freedom);
      add_blocks(run, verdict.workload, pool);
      add_starts(run, pool);
    }
  }
  std::vector<WorkloadNoise> found;
  for (const Key& key : order) {
    found.push_back(finished(std::move(pools[key])));
  }
  return found;
}

const WorkloadNoise* noise_for(const std::vector<WorkloadNoise>& noise,
                               const record::Manifest& manifest, const std::string& workload) {
  const std::string subject = subject_of(manifest);
  const WorkloadNoise* best = nullptr;
  int best_fit = -1;
  for (const WorkloadNoise& candidate : noise) {
    if (candidate.workload != workload) {
      continue;
    }
    const int fit = (candidate.subject == subject ? 4 : 0) +
                    (candidate.order == manifest.protocol.order ? 2 : 0) +
                    (candidate.blocks == manifest.protocol.blocks ? 1 : 0);
    if (fit > best_fit) {
      best = &candidate;
      best_fit = fit;
    }
  }
  return best;
}

int best_blocks(const WorkloadNoise& noise) {
  if (!(noise.block_sd > 0) || !(noise.block_s > 0) || !(noise.pass_s > 0) || noise.blocks < 1) {
    return 0;
  }
  const double block_variance = noise.block_sd * noise.block_sd;
  const double left = noise.pass_sd * noise.pass_sd - block_variance / noise.blocks;
  if (!(left > 0)) {
    return kMostBlocks;  // all the spread is that of blocks: more of them is all that helps
  }
  const double best = std::sqrt(noise.pass_s / noise.block_s * block_variance / left);
  return static_cast<int>(std::clamp(std::round(best), 1.0, static_cast<double>(kMostBlocks)));
}

}  // namespace abba::calibration
