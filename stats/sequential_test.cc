// SPDX-License-Identifier: MIT
// 10,000 simulated experiments each: what stopping early does to error rates and intervals. The
// figures that are printed are those of doc/statistics.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "stats/decide.h"
#include "stats/distribution.h"
#include "stats/equivalence.h"
#include "stats/oracle/simulate.h"
#include "stats/repeated.h"
#include "stats/stopping.h"
#include "stats/summary.h"

namespace stab::stats {
namespace {

constexpr int experiments = 10'000;

// The interval that holds 99 % of the counts if the share is as said (normal approximation of the
// binomial).
Interval binomial(double share) {
  const double half = 2.5758 * std::sqrt(share * (1 - share) / experiments);
  return {share - half, share + half};
}

// One block's difference of logarithms.
using Draw = double (*)(oracle::Normal&);

double normal_block(oracle::Normal& normal) {
  return 0.01 * normal.next();
}

// The difference of two skewed times (exponential tails), as in a noisy machine.
double skewed_block(oracle::Normal& normal) {
  return 0.01 * (std::log(normal.uniform()) - std::log(normal.uniform()));
}

Estimate paired_estimate(const Moments& blocks, double truth = 0) {
  const double n = static_cast<double>(blocks.n);
  return {.difference = truth + blocks.mean, .variance = blocks.ss / (n - 1) / n, .df = n - 1};
}

struct Outcome {
  double rejected = 0;  // shares of the experiments
  double covered = 0;   // the interval at the stop holds the truth
  double blocks = 0;    // mean number
};

Outcome simulate(const SequentialTest& test, Draw draw, double truth, std::uint64_t seed) {
  oracle::Normal normal(seed);
  Outcome outcome;
  for (int i = 0; i < experiments; ++i) {
    Moments blocks;
    Stop stop = Stop::go_on;
    while (stop == Stop::go_on) {
      blocks.add(draw(normal));
      stop = test.decide(blocks.n, paired_estimate(blocks, truth));
    }
    const auto interval = test.interval(blocks.n, paired_estimate(blocks, truth));
    outcome.rejected += stop == Stop::different ? 1.0 / experiments : 0;
    if (interval && interval->low <= truth && truth <= interval->high)
      outcome.covered += 1.0 / experiments;
    outcome.blocks += static_cast<double>(blocks.n) / experiments;
  }
  return outcome;
}

SequentialTest plan(std::vector<std::size_t> looks) {
  return *SequentialTest::plan(looks, 0.05);
}

std::vector<std::size_t> every(std::size_t first, std::size_t step, std::size_t last) {
  std::vector<std::size_t> looks;
  for (std::size_t blocks = first; blocks <= last; blocks += step) looks.push_back(blocks);
  return looks;
}

void print(const char* what, const Outcome& outcome) {
  std::printf("%-52s rejected %.4f, covered %.4f, blocks %.1f\n", what, outcome.rejected,
              outcome.covered, outcome.blocks);
}

TEST(SequentialErrorRate, ATrueNullHypothesisIsRejectedAsOftenAsAlphaSays) {
  const Interval expected = binomial(0.05);
  struct Case {
    const char* name;
    std::vector<std::size_t> looks;
  };
  const std::array cases{Case{"five looks at 10, 20 .. 50 blocks", every(10, 10, 50)},
                         Case{"a look at every block from 10 to 60", every(10, 1, 60)},
                         Case{"a look at every block from 5 to 30", every(5, 1, 30)},
                         Case{"a look at every fifth block from 15 to 100", every(15, 5, 100)}};
  std::uint64_t seed = 1;
  for (const Case& c : cases) {
    const Outcome outcome = simulate(plan(c.looks), normal_block, 0, seed++);
    print(c.name, outcome);
    EXPECT_GE(outcome.rejected, expected.low) << c.name;
    EXPECT_LE(outcome.rejected, expected.high) << c.name;
    EXPECT_NEAR(outcome.covered, 1 - outcome.rejected, 1e-9) << c.name;
  }
}

TEST(SequentialErrorRate, SkewedTimesDoNotRaiseIt) {
  const Outcome outcome = simulate(plan(every(10, 5, 60)), skewed_block, 0, 77);
  print("skewed times, a look at every fifth block to 60", outcome);
  EXPECT_LE(outcome.rejected, binomial(0.05).high);
}

TEST(SequentialErrorRate, WithoutTheRuleItWouldBeSeveralTimesAlpha) {
  oracle::Normal normal(5);
  double rejected = 0;
  for (int i = 0; i < experiments; ++i) {
    Moments blocks;
    bool stopped = false;
    while (!stopped && blocks.n < 60) {
      blocks.add(normal_block(normal));
      stopped = blocks.n >= 10 && *p_value(paired_estimate(blocks)) <= 0.05;
    }
    rejected += stopped ? 1.0 / experiments : 0;
  }
  std::printf("p < 0.05 asked at every block from 10 to 60: rejected %.4f\n", rejected);
  EXPECT_GT(rejected, 0.15);
}

TEST(SequentialPower, ARealDifferenceEndsTheExperimentEarly) {
  const SequentialTest test = plan(every(10, 5, 60));
  const double truth = 0.005;  // half a standard deviation
  const Outcome outcome = simulate(test, normal_block, truth, 9);
  print("a difference of half a standard deviation", outcome);
  EXPECT_GT(outcome.rejected, 0.94);
  EXPECT_LT(outcome.blocks, 40);
  EXPECT_GE(outcome.covered, 0.95);  // the repeated interval, whenever the experiment ended
}

// Stops as soon as the half width of the interval is at most the target.
Outcome simulate_precision(const PrecisionRule& rule, Draw draw, double alpha, std::uint64_t seed) {
  oracle::Normal normal(seed);
  std::vector<double> critical(rule.max_blocks + 1);
  for (std::size_t n = 2; n <= rule.max_blocks; ++n)
    critical[n] = *t_upper_quantile(alpha / 2, static_cast<double>(n) - 1);
  Outcome outcome;
  for (int i = 0; i < experiments; ++i) {
    Moments blocks;
    std::array<Effect, 1> effects;
    Stop stop = Stop::go_on;
    while (stop == Stop::go_on) {
      blocks.add(draw(normal));
      if (blocks.n < rule.min_blocks) continue;
      const double half = critical[blocks.n] * std::sqrt(paired_estimate(blocks).variance);
      effects[0].low = std::exp(blocks.mean - half);
      effects[0].high = std::exp(blocks.mean + half);
      stop = decide(rule, blocks.n, effects);
    }
    if (*effects[0].low <= 1 && 1 <= *effects[0].high) outcome.covered += 1.0 / experiments;
    outcome.blocks += static_cast<double>(blocks.n) / experiments;
  }
  return outcome;
}

// The worst over targets that ask for few blocks, about min_blocks, and many.
double worst_coverage(std::size_t min_blocks, Draw draw, double sd, double alpha) {
  double worst = 1;
  std::uint64_t seed = 1000 * min_blocks;
  for (const double size : {0.7, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0}) {
    const double asked = size * static_cast<double>(min_blocks);
    const double z = *t_upper_quantile(alpha / 2, 1e6);
    const PrecisionRule rule{.half_width = z * sd / std::sqrt(asked),
                             .min_blocks = min_blocks,
                             .max_blocks = 8 * min_blocks};
    worst = std::min(worst, simulate_precision(rule, draw, alpha, seed++).covered);
  }
  return worst;
}

TEST(PrecisionCoverage, OfPlainIntervalsIsTooSmall) {
  for (const std::size_t min_blocks : {5UL, 10UL, 20UL, 30UL}) {
    const double worst = worst_coverage(min_blocks, normal_block, 0.01, 0.05);
    std::printf("precision, plain 95 %%, min_blocks %zu: holds the truth in %.4f at worst\n",
                min_blocks, worst);
    EXPECT_LT(worst, 0.95);
    EXPECT_GT(worst, 0.91);
  }
}

// At least what the intervals say, less three standard errors.
TEST(PrecisionCoverage, WithPrecisionAlphaIsWhatTheIntervalsSay) {
  for (const double alpha : {0.01, 0.05, 0.1})
    for (const std::size_t min_blocks : {15UL, 20UL, 30UL}) {
      const double worst = worst_coverage(min_blocks, normal_block, 0.01, precision_alpha(alpha));
      std::printf("precision, %g %%, min_blocks %zu: holds the truth in %.4f at worst\n",
                  100 * (1 - alpha), min_blocks, worst);
      if (min_blocks >= 20)
        EXPECT_GE(worst, 1 - alpha - 3 * std::sqrt(alpha * (1 - alpha) / experiments));
    }
}

TEST(PrecisionCoverage, SkewedTimesDoNotLowerIt) {
  const double worst = worst_coverage(20, skewed_block, 0.01 * std::sqrt(2), precision_alpha(0.05));
  std::printf("precision, 95 %%, min_blocks 20, skewed times: %.4f at worst\n", worst);
  EXPECT_GE(worst, 0.95 - 3 * std::sqrt(0.05 * 0.95 / experiments));
}

// Ten benchmarks, none of which changed (first case) or all of which changed by exactly the margin
// (second case): how often is any verdict of the family wrong?
TEST(FamilyErrorRate, IsAtMostAlpha) {
  oracle::Normal normal(31);
  for (const double truth : {0.0, std::log1p(0.01)}) {
    int wrong = 0;
    for (int i = 0; i < experiments; ++i) {
      std::vector<Estimate> estimates;
      for (int benchmark = 0; benchmark < 10; ++benchmark) {
        Moments blocks;
        for (int block = 0; block < 20; ++block) blocks.add(normal_block(normal));
        estimates.push_back(paired_estimate(blocks, truth));
      }
      const auto effects = family_effects(estimates, 0.05, 0.01);
      ASSERT_TRUE(effects);
      const bool any_wrong = std::ranges::any_of(*effects, [&](const Effect& effect) {
        if (truth == 0)
          return effect.verdict == Verdict::faster || effect.verdict == Verdict::slower;
        return effect.verdict == Verdict::same || effect.verdict == Verdict::faster;
      });
      wrong += any_wrong ? 1 : 0;
    }
    std::printf("family of ten at a log ratio of %.4f: any verdict wrong in %.4f\n", truth,
                static_cast<double>(wrong) / experiments);
    EXPECT_LE(static_cast<double>(wrong) / experiments, binomial(0.05).high);
    EXPECT_GE(wrong, 100);  // the simulation can find what it looks for
  }
}

// Two benchmarks that changed by nothing or by exactly the margin, looked at until no verdict is
// `unsure`: how often is any verdict wrong where the experiment ended?
TEST(SequentialVerdicts, AreWrongAsSeldomAsAlphaSaysWhereverTheExperimentEnds) {
  constexpr int families = 2000;
  constexpr double margin = 0.01;
  const std::vector<std::size_t> looks{10, 20, 30};
  std::vector<Repeated> at;
  for (const std::size_t blocks : looks)
    at.push_back(*Repeated::at({.planned = looks, .blocks = blocks}));
  oracle::Normal normal(59);
  for (const double truth : {0.0, std::log1p(margin)}) {
    int wrong = 0;
    double blocks_used = 0;
    for (int i = 0; i < families; ++i) {
      std::array<Moments, 2> benchmarks;
      Analysis analysis;
      for (std::size_t look = 0; look < looks.size(); ++look) {
        analysis.effects.clear();
        for (Moments& blocks : benchmarks) {
          while (blocks.n < looks[look]) blocks.add(normal_block(normal));
          const Estimate estimate = paired_estimate(blocks, truth);
          const auto same = tost(estimate, *log_bounds(margin));
          Effect effect{.subject = "b", .ratio = std::exp(estimate.difference)};
          effect.p = at[look].p(*p_value(estimate));
          effect.p_same = at[look].one_sided_p(same->p);
          analysis.effects.push_back(effect);
        }
        decide(analysis);
        if (std::ranges::none_of(analysis.effects,
                                 [](const Effect& e) { return e.verdict == Verdict::unsure; }))
          break;
      }
      blocks_used += static_cast<double>(benchmarks[0].n) / families;
      wrong += std::ranges::any_of(analysis.effects, [&](const Effect& effect) {
        if (effect.verdict == Verdict::faster) return true;
        return effect.verdict == (truth == 0 ? Verdict::slower : Verdict::same);
      });
    }
    const double share = static_cast<double>(wrong) / families;
    std::printf(
        "sequential verdicts on two at a log ratio of %.4f: any wrong in %.4f, %.1f blocks\n",
        truth, share, blocks_used);
    EXPECT_LE(share, 0.05 + 3 * std::sqrt(0.05 * 0.95 / families));
    EXPECT_GE(wrong, families / 200);  // the simulation can find what it looks for
  }
}

}  // namespace
}  // namespace stab::stats
