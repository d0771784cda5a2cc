#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/prng.h"
#include "harness/stats/bootstrap.h"
#include "harness/stats/estimators.h"
#include "harness/stats/intervals.h"
#include "harness/stats/measured.h"
#include "harness/stats/rank_draw.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::stats {
namespace {

struct Shape {
  int passes = 12;
  int blocks = 2;
  int samples = 30;
  double effect = 0;
  double luck = 0.003;  // of each arm in each pass
  double noise = 0.01;  // of a request
  std::uint64_t seed = 1;
};

std::vector<BootstrapPass> draw_passes(const Shape& shape) {
  base::Random random(shape.seed);
  std::vector<BootstrapPass> passes;
  for (int p = 0; p < shape.passes; ++p) {
    const double luck[2] = {shape.luck * random.normal(),
                            shape.effect + shape.luck * random.normal()};
    BootstrapPass pass;
    for (int b = 0; b < shape.blocks; ++b) {
      BootstrapBlock block;
      for (const bool is_b : {false, true, true, false}) {
        BootstrapSlot slot{is_b, {}};
        for (int i = 0; i < shape.samples; ++i) {
          slot.sorted.push_back(luck[is_b ? 1 : 0] + shape.noise * random.normal());
        }
        std::sort(slot.sorted.begin(), slot.sorted.end());
        block.push_back(slot);
      }
      pass.push_back(block);
    }
    passes.push_back(pass);
  }
  return passes;
}

// Against real resamples, rank for rank: the drawn quantile must have the same law. Small counts,
// because there a wrong rank shows.
TEST(RankDraw, has_the_law_of_a_real_resamples_quantile) {
  constexpr int kDraws = 40'000;
  for (const std::int64_t n : {1, 2, 5, 6, 31}) {
    for (const double p : {0.0, 0.25, 0.5, 0.95, 1.0}) {
      std::vector<double> sorted;
      for (std::int64_t i = 0; i < n; ++i) {
        sorted.push_back(static_cast<double>(i * i));
      }
      base::Random random(11);
      const QuantileDraw law(n, p);
      std::vector<double> drawn;
      std::vector<double> real;
      for (int i = 0; i < kDraws; ++i) {
        drawn.push_back(law.draw(sorted, random));
        std::vector<double> resample;
        for (std::int64_t j = 0; j < n; ++j) {
          resample.push_back(sorted[random.below(static_cast<std::uint64_t>(n))]);
        }
        real.push_back(quantile(resample, p));
      }
      std::sort(drawn.begin(), drawn.end());
      std::sort(real.begin(), real.end());
      double distance = 0;  // Kolmogorov-Smirnov over both
      for (const double x : real) {
        const auto below = [x](const std::vector<double>& v) {
          return double(std::upper_bound(v.begin(), v.end(), x + 1e-9) - v.begin()) / kDraws;
        };
        distance = std::max(distance, std::fabs(below(drawn) - below(real)));
      }
      EXPECT_LT(distance, 1.95 * std::sqrt(2.0 / kDraws)) << n << " " << p;  // p = 0.001
    }
  }
}

TEST(Bootstrap, a_seed_gives_the_same_bits_at_any_thread_count) {
  const auto passes = draw_passes({});
  BootstrapOptions options;
  options.resamples = 501;
  options.threads = 1;
  const Bootstrap one = hierarchical_bootstrap(passes, options);
  for (const int threads : {2, 3, 8, 1000}) {
    options.threads = threads;
    EXPECT_EQ(hierarchical_bootstrap(passes, options).effects, one.effects) << threads;
  }
  options.seed = 2;
  EXPECT_NE(hierarchical_bootstrap(passes, options).effects, one.effects);
}

TEST(Bootstrap, its_error_comes_near_students_once_rescaled) {
  const auto passes = draw_passes({.passes = 40, .samples = 60});
  const Bootstrap result = hierarchical_bootstrap(passes);
  std::vector<double> values;
  for (const BootstrapPass& pass : passes) {
    std::vector<double> contrasts;
    for (const BootstrapBlock& b : pass) {
      contrasts.push_back(0.5 * (median(b[1].sorted) + median(b[2].sorted) - median(b[0].sorted) -
                                 median(b[3].sorted)));
    }
    values.push_back(hodges_lehmann(contrasts));
  }
  EXPECT_NEAR(result.estimate, mean(values), 1e-15);
  const record::Interval student = student_interval(values, 0.95);
  const double ratio = (result.rescaled.high - result.rescaled.low) / (student.high - student.low);
  EXPECT_GT(ratio, 0.95);
  EXPECT_LT(ratio, 1.35);  // requests and blocks are drawn anew too, which adds what they scatter
  EXPECT_TRUE(result.percentile_may_decide);
  EXPECT_FALSE(hierarchical_bootstrap(draw_passes({})).percentile_may_decide);
}

TEST(Bootstrap, shift_scale_and_labels_carry_through) {
  BootstrapOptions options;
  options.resamples = 400;
  auto passes = draw_passes({.effect = 0.01});
  const Bootstrap plain = hierarchical_bootstrap(passes, options);
  auto moved = passes;
  for (auto& pass : moved) {
    for (auto& block : pass) {
      for (auto& slot : block) {
        for (double& v : slot.sorted) {
          v = 3 + 2 * v;  // the shift falls out of a contrast, the scale does not
        }
      }
    }
  }
  const Bootstrap scaled = hierarchical_bootstrap(moved, options);
  EXPECT_NEAR(scaled.estimate, 2 * plain.estimate, 1e-12);
  EXPECT_NEAR(scaled.rescaled.low, 2 * plain.rescaled.low, 1e-12);
  for (auto& pass : passes) {
    for (auto& block : pass) {
      for (auto& slot : block) {
        slot.is_b = !slot.is_b;
      }
    }
  }
  const Bootstrap swapped = hierarchical_bootstrap(passes, options);
  EXPECT_NEAR(swapped.estimate, -plain.estimate, 1e-15);
  EXPECT_NEAR(swapped.rescaled.low, -plain.rescaled.high, 1e-12);
  EXPECT_NEAR(swapped.percentile.low, -plain.percentile.high, 1e-12);
}

TEST(Bootstrap, a_slots_tail_is_drawn_like_its_middle) {
  BootstrapOptions options;
  options.quantile = 0.95;
  options.resamples = 1000;
  const Bootstrap result =
      hierarchical_bootstrap(draw_passes({.samples = 100, .effect = 0.02}), options);
  EXPECT_LT(result.rescaled.low, 0.02);
  EXPECT_GT(result.rescaled.high, 0.02);
  EXPECT_LT(result.rescaled.high - result.rescaled.low, 0.02);
}

TEST(Bootstrap, bad_input_is_not_estimable) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto expect_nothing = [](const std::vector<BootstrapPass>& passes,
                                 const BootstrapOptions& options = {.resamples = 50}) {
    const Bootstrap result = hierarchical_bootstrap(passes, options);
    EXPECT_TRUE(result.effects.empty());
    EXPECT_FALSE(result.percentile.estimable());
    EXPECT_FALSE(result.rescaled.estimable());
    EXPECT_TRUE(std::isfinite(result.estimate));
  };
  expect_nothing({});
  expect_nothing(draw_passes({.passes = 1}));
  auto passes = draw_passes({});
  passes[3].clear();
  expect_nothing(passes);
  passes = draw_passes({});
  passes[3][0][1].sorted.back() = nan;
  expect_nothing(passes);
  passes[3][0][1].sorted.back() = INFINITY;
  expect_nothing(passes);
  passes = draw_passes({});
  passes[3][0][1].sorted.clear();
  expect_nothing(passes);
  passes = draw_passes({});
  passes[3][0].erase(passes[3][0].begin() + 1, passes[3][0].begin() + 3);  // no B
  expect_nothing(passes);
  expect_nothing(draw_passes({}), {.resamples = 0});
  expect_nothing(draw_passes({}), {.quantile = nan});
  expect_nothing(draw_passes({}), {.level = 1});
}

TEST(Bootstrap, reads_the_clean_blocks_of_a_run) {
  synthetic::Spec spec;
  spec.effect = -0.05;
  record::RunRecord run = synthetic::make_run(spec);
  run.passes[2].blocks[0].taint = "cpu-load";
  const Measure measure = primary_measure(run);
  const auto passes = bootstrap_passes(counted_passes(run), "small", measure);
  ASSERT_EQ(passes.size(), 12U);
  EXPECT_EQ(passes[2].size(), passes[3].size() - 1);
  EXPECT_EQ(passes[0][0].size(), 4U);
  EXPECT_EQ(passes[0][0][0].sorted.size(), 20U);
  const Bootstrap result = hierarchical_bootstrap(passes, {.resamples = 500});
  EXPECT_NEAR(result.estimate, -0.05, 0.006);
  EXPECT_LT(result.rescaled.high, 0);
}

}  // namespace
}  // namespace abba::stats
