// SPDX-License-Identifier: MIT
#include "stats/planning/repeated.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <random>

#include "stats/analyse/analyse.h"
#include "stats/oracle/data.h"
#include "stats/verdicts/analysis.h"
#include "stats/verdicts/decide.h"

namespace stab::stats {
namespace {

const std::vector<std::size_t> five{20, 40, 60, 80, 100};

TEST(Repeated, ALookAtTheEndAloneChangesNothing) {
  const auto only = Repeated::at({.planned = {50}, .blocks = 50});
  ASSERT_TRUE(only);
  EXPECT_EQ(only->p(0.031), 0.031);
  EXPECT_NEAR(only->level(0.05), 0.05, 1e-12);
}

TEST(Repeated, LevelsAreThoseOfTheBoundary) {
  const auto boundary = spend_alpha(std::array{0.2, 0.4, 0.6, 0.8, 1.0}, 0.05);
  ASSERT_TRUE(boundary);
  for (std::size_t i = 0; i < five.size(); ++i) {
    const auto here = Repeated::at({.planned = five, .blocks = five[i]});
    ASSERT_TRUE(here);
    EXPECT_NEAR(here->level(0.05), (*boundary)[i].nominal, 1e-12) << five[i];
  }
}

TEST(Repeated, PIsTheSmallestAlphaWhoseBoundaryIsReached) {
  for (const std::size_t blocks : five)
    for (const double alpha : {0.6, 0.2, 0.05, 0.01, 1e-4}) {
      const auto here = Repeated::at({.planned = five, .blocks = blocks});
      ASSERT_TRUE(here);
      const double level = here->level(alpha);
      if (!(level > 0)) continue;
      EXPECT_NEAR(here->p(level), alpha, 1e-8 * alpha) << blocks;
      EXPECT_NEAR(here->one_sided_p(level / 2), alpha / 2, 1e-8 * alpha) << blocks;
    }
}

TEST(Repeated, PRisesAndIsNeverBelowThatOfTheLookAlone) {
  const auto here = Repeated::at({.planned = five, .blocks = 60});
  ASSERT_TRUE(here);
  double last = 0;
  for (const double p : {0.0, 1e-300, 1e-20, 1e-6, 0.001, 0.02, 0.3, 0.7, 0.99, 1.0}) {
    const double repeated = here->p(p);
    EXPECT_GE(repeated, p);
    EXPECT_GE(repeated, last * (1 - 1e-12));
    EXPECT_LE(repeated, 1);
    last = repeated;
  }
}

TEST(Repeated, BetweenTwoLooksTheExperimentIsLookedAtWhereItIs) {
  const auto between = Repeated::at({.planned = five, .blocks = 50});
  const auto before = Repeated::at({.planned = five, .blocks = 40});
  ASSERT_TRUE(between && before);
  EXPECT_GT(between->level(0.05), before->level(0.05));
  EXPECT_LT(between->level(0.05), 0.05);
}

// An experiment of 100 blocks at most, looked at as planned, which its time may end after any of them:
// the last look is one that was planned for there. Of those without an effect 5 % find one at most.
TEST(Repeated, ALastLookWhereTheTimeEndsKeepsTheError) {
  constexpr unsigned experiments = 20'000;
  std::vector<double> planned_levels;
  for (const std::size_t look : five)
    planned_levels.push_back(Repeated::at({.planned = five, .blocks = look})->level(0.05));
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (const std::size_t end : {25, 39, 50, 73, 99}) {
    std::vector<std::size_t> looks;
    std::ranges::copy_if(five, std::back_inserter(looks), [&](auto look) { return look < end; });
    looks.push_back(end);
    const double last = Repeated::at({.planned = looks, .blocks = end})->level(0.05);
    unsigned found = 0;
    for (unsigned i = 0; i < experiments; ++i) {
      double sum = 0;
      bool finds = false;
      for (std::size_t block = 1; block <= end && !finds; ++block) {
        sum += normal(random);
        const auto look = std::ranges::find(five, block);
        const double level = look != five.end() ? planned_levels[look - five.begin()]
                             : block == end     ? last
                                                : 0;
        const double z = std::fabs(sum) / std::sqrt(static_cast<double>(block));
        finds = level > 0 && std::erfc(z / std::sqrt(2.0)) <= level;
      }
      found += finds ? 1 : 0;
    }
    const double share = found / static_cast<double>(experiments);
    EXPECT_LE(share, 0.05 + 4 * std::sqrt(0.05 * 0.95 / experiments)) << end;
    EXPECT_GE(share, 0.035) << end << ": what is left is spent";
  }
}

TEST(Repeated, WithoutLooksOrBlocksItSaysWhy) {
  EXPECT_FALSE(Repeated::at({}));
  EXPECT_FALSE(Repeated::at({.planned = five, .blocks = 1}));
  EXPECT_FALSE(Repeated::at({.planned = {30, 20}, .blocks = 50}));
}

// Blocks of two levels; `change` of the second on the log scale.
class Experiment {
 public:
  Experiment(std::uint64_t seed, double change) : normal_(seed), change_(change) {
    data_.columns = {{.name = "block", .levels = {}, .codes = {}},
                     {.name = "opt", .levels = {"O2", "O3"}, .codes = {}}};
  }
  void run_until(std::size_t blocks) {
    for (; blocks_ < blocks; ++blocks_) {
      data_.columns[0].levels.push_back(std::to_string(blocks_));
      for (std::uint32_t level = 0; level < 2; ++level) {
        data_.response.push_back(100 * std::exp(0.01 * normal_.next() + level * change_));
        data_.columns[0].codes.push_back(static_cast<std::uint32_t>(blocks_));
        data_.columns[1].codes.push_back(level);
      }
    }
  }
  [[nodiscard]] Analysis look(const std::vector<std::size_t>& planned) const {
    Spec spec{.treatments = {"opt"}, .block = "block", .assumptions = false, .equivalence = 0.01};
    if (!planned.empty()) spec.looks = Looks{.planned = planned, .blocks = blocks_};
    return analyse(data_, spec);
  }

 private:
  oracle::Normal normal_;
  double change_;
  std::size_t blocks_ = 0;
  Dataset data_;
};

TEST(Repeated, AnAnalysisWithLooksIsWiderAndItsVerdictIsWhatTheTestDecides) {
  Experiment experiment(4, 0.004);
  for (const std::size_t blocks : five) {
    experiment.run_until(blocks);
    const Effect plain = experiment.look({}).effects.at(0);
    const Effect effect = experiment.look(five).effects.at(0);
    EXPECT_EQ(effect.ratio, plain.ratio);
    ASSERT_TRUE(effect.p && plain.p);
    EXPECT_GT(*effect.p, *plain.p);
    const auto here = Repeated::at({.planned = five, .blocks = blocks});
    EXPECT_EQ(*plain.p <= here->level(0.05), *effect.p <= 0.05);
    if (effect.low) {
      EXPECT_LT(*effect.low, *plain.low);
      EXPECT_EQ(*effect.p < 0.05, *effect.low > 1 || *effect.high < 1);
    }
  }
}

TEST(Repeated, SoEarlyThatNothingCanBeToldIsSaid) {
  Experiment experiment(4, 0.5);
  experiment.run_until(3);
  const Analysis analysis = experiment.look({3, 100});
  EXPECT_FALSE(analysis.effects.at(0).low);
  EXPECT_EQ(analysis.effects.at(0).verdict, Verdict::unsure);
  EXPECT_GT(*analysis.effects.at(0).p_adjusted, 0.05);
}

// Stops when the verdict is no longer `unsure`, as the daemon does. The change is exactly the
// margin, so that `same` is as wrong as `faster`.
TEST(Repeated, VerdictsAtALookOfOnesChoiceAreWrongAsSeldomAsAlphaSays) {
  const std::vector<std::size_t> planned{10, 20, 30};
  constexpr int experiments = 400;
  int wrong = 0;
  for (int i = 0; i < experiments; ++i) {
    Experiment experiment(static_cast<std::uint64_t>(100 + i), std::log(1.01));
    Verdict verdict = Verdict::unsure;
    for (const std::size_t blocks : planned) {
      experiment.run_until(blocks);
      verdict = experiment.look(planned).effects.at(0).verdict;
      if (verdict != Verdict::unsure) break;
    }
    wrong += verdict == Verdict::same || verdict == Verdict::faster ? 1 : 0;
  }
  std::printf("wrong verdicts with a change of exactly the margin: %d of %d\n", wrong, experiments);
  EXPECT_LE(wrong, 0.05 * experiments + 3 * std::sqrt(0.05 * 0.95 * experiments));
}

}  // namespace
}  // namespace stab::stats
