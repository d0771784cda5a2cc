#include "harness/stats/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "engine/base/prng.h"
#include "harness/stats/distributions.h"
#include "harness/stats/estimators.h"
#include "harness/stats/rank_draw.h"

namespace abba::stats {
namespace {

bool usable(const BootstrapBlock& block) {
  bool seen[2] = {false, false};
  for (const BootstrapSlot& slot : block) {
    seen[slot.is_b ? 1 : 0] = true;
    if (slot.sorted.empty() || !std::isfinite(slot.sorted.front()) ||
        !std::isfinite(slot.sorted.back()) ||
        !std::is_sorted(slot.sorted.begin(), slot.sorted.end())) {
      return false;
    }
  }
  return seen[0] && seen[1];
}

bool usable(const std::vector<BootstrapPass>& passes) {
  return !passes.empty() && std::all_of(passes.begin(), passes.end(), [](const auto& pass) {
    return !pass.empty() &&
           std::all_of(pass.begin(), pass.end(), [](const auto& block) { return usable(block); });
  });
}

// B minus A of one block, each slot's number given by `summary`.
template <typename Summary>
double contrast(const BootstrapBlock& block, Summary&& summary) {
  double sum[2] = {0, 0};
  double count[2] = {0, 0};
  for (const BootstrapSlot& slot : block) {
    sum[slot.is_b ? 1 : 0] += summary(slot);
    count[slot.is_b ? 1 : 0] += 1;
  }
  return sum[1] / count[1] - sum[0] / count[0];
}

double point_estimate(const std::vector<BootstrapPass>& passes, double p) {
  std::vector<double> values;
  for (const BootstrapPass& pass : passes) {
    std::vector<double> contrasts;
    for (const BootstrapBlock& block : pass) {
      contrasts.push_back(
          contrast(block, [p](const BootstrapSlot& slot) { return quantile(slot.sorted, p); }));
    }
    values.push_back(hodges_lehmann(std::move(contrasts)));
  }
  return mean(values);
}

class Resampler {
 public:
  Resampler(const std::vector<BootstrapPass>& passes, const BootstrapOptions& options)
      : passes_(passes), seed_(options.seed) {
    for (const BootstrapPass& pass : passes) {
      for (const BootstrapBlock& block : pass) {
        for (const BootstrapSlot& slot : block) {
          laws_.try_emplace(slot.sorted.size(), static_cast<std::int64_t>(slot.sorted.size()),
                            options.quantile);
        }
      }
    }
  }

  // Each resample has a generator of its own, so it does not matter which thread makes it.
  [[nodiscard]] double effect(std::uint64_t index) const {
    const base::PhiloxCounter word = base::philox4x32_10(
        {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32U), 0, 0},
        {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U)});
    base::Random random((std::uint64_t{word[1]} << 32U) | word[0]);
    double sum = 0;
    std::vector<double> contrasts;
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      const BootstrapPass& pass = passes_[random.below(passes_.size())];
      contrasts.clear();
      for (std::size_t j = 0; j < pass.size(); ++j) {
        contrasts.push_back(
            contrast(pass[random.below(pass.size())], [&](const BootstrapSlot& slot) {
              return laws_.find(slot.sorted.size())->second.draw(slot.sorted, random);
            }));
      }
      sum += hodges_lehmann(contrasts);
    }
    return sum / static_cast<double>(passes_.size());
  }

 private:
  const std::vector<BootstrapPass>& passes_;
  std::uint64_t seed_;
  std::map<std::size_t, QuantileDraw> laws_;  // by the number of values of a slot
};

std::vector<double> resample(const std::vector<BootstrapPass>& passes,
                             const BootstrapOptions& options) {
  const Resampler resampler(passes, options);
  std::vector<double> effects(static_cast<std::size_t>(options.resamples));
  const auto count = static_cast<std::size_t>(std::clamp(options.threads, 1, options.resamples));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < effects.size(); i += count) {
        effects[i] = resampler.effect(i);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::sort(effects.begin(), effects.end());
  return effects;
}

// Nothing if a slot has no usable value.
std::optional<BootstrapBlock> read_block(const record::Block& block, const Measure& measure) {
  BootstrapBlock result;
  for (const record::Slot& slot : block.slots) {
    BootstrapSlot read;
    read.is_b = slot.arm == "B";
    for (const double value : slot_values(slot, block, measure).values) {
      read.sorted.push_back(std::log(value));
    }
    std::sort(read.sorted.begin(), read.sorted.end());
    result.push_back(std::move(read));
  }
  return usable(result) ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace

Bootstrap hierarchical_bootstrap(const std::vector<BootstrapPass>& passes,
                                 const BootstrapOptions& options) {
  Bootstrap result;
  const bool options_make_sense =
      options.quantile >= 0 && options.quantile <= 1 && options.level > 0 && options.level < 1;
  if (!options_make_sense || !usable(passes)) {
    return result;
  }
  result.estimate = point_estimate(passes, options.quantile);
  if (passes.size() < 2 || options.resamples < 2) {
    return result;
  }
  result.effects = resample(passes, options);
  const double tail = (1 - options.level) / 2;
  result.percentile = {quantile(result.effects, tail), quantile(result.effects, 1 - tail),
                       options.level};
  const auto count = static_cast<double>(passes.size());
  const double half = student_quantile(1 - tail, count - 1) * standard_deviation(result.effects) *
                      std::sqrt(count / (count - 1));
  result.rescaled = {result.estimate - half, result.estimate + half, options.level};
  result.percentile_may_decide = passes.size() >= kFewestPassesForPercentiles;
  return result;
}

std::vector<BootstrapPass> bootstrap_passes(const std::vector<const record::Pass*>& passes,
                                            const std::string& workload, const Measure& measure) {
  std::vector<BootstrapPass> result;
  for (const record::Pass* pass : passes) {
    BootstrapPass read;
    for (const record::Block* block : clean_blocks(*pass, workload)) {
      if (auto values = read_block(*block, measure)) {
        read.push_back(std::move(*values));
      }
    }
    if (!read.empty()) {
      result.push_back(std::move(read));
    }
  }
  return result;
}

}  // namespace abba::stats
