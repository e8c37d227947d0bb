// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "stats/analyse/analyse.h"
#include "stats/data/dataset.h"
#include "stats/verdicts/decide.h"

namespace stab::stats {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Two programs at three levels; `number` gives the response.
Dataset three_levels(std::uint32_t blocks, auto&& number) {
  Dataset data;
  data.columns = {{.name = "bench", .levels = {"a", "b"}, .codes = {}},
                  {.name = "opt", .levels = {"O0", "O1", "O2"}, .codes = {}},
                  {.name = "block", .levels = {}, .codes = {}}};
  for (std::uint32_t block = 0; block < blocks; ++block) {
    data.columns[2].levels.push_back(std::to_string(block));
    for (std::uint32_t bench = 0; bench < 2; ++bench)
      for (std::uint32_t opt = 0; opt < 3; ++opt) {
        data.columns[0].codes.push_back(bench);
        data.columns[1].codes.push_back(opt);
        data.columns[2].codes.push_back(block);
        data.response.push_back(number(bench, opt, block));
      }
  }
  return data;
}

// 50 % more in a, 10 % less in b; O2 is what O0 is.
double bytes(std::uint32_t bench, std::uint32_t opt, std::uint32_t) {
  if (opt != 1) return bench == 0 ? 4000 : 1000;
  return bench == 0 ? 6000 : 900;
}

Spec spec_of(Origin origin) {
  Spec spec;
  spec.response = "code-size";
  spec.unit = Unit::bytes;
  spec.subject = "bench";
  spec.treatments = {"opt"};
  spec.block = "block";
  spec.origin = origin;
  return spec;
}

void expect_no_test(const Effect& effect) {
  EXPECT_FALSE(effect.p || effect.p_adjusted || effect.p_same || effect.df);
  EXPECT_FALSE(effect.low || effect.high || effect.low_adjusted || effect.tost_low);
  EXPECT_FALSE(effect.detectable || effect.needed);
}

TEST(OfBuilds, AFactIsExactHoweverFewTrialsThereAre) {
  for (const std::uint32_t blocks : {1U, 2U, 9U}) {
    for (const bool logs : {false, true}) {
      Spec spec = spec_of(Origin::build);
      spec.log_scale = logs;
      const Analysis analysis = analyse(three_levels(blocks, bytes), spec);
      ASSERT_EQ(analysis.effects.size(), 4U);
      for (const Effect& effect : analysis.effects) {
        expect_no_test(effect);
        EXPECT_TRUE(effect.exact);
      }
      EXPECT_EQ(analysis.effects[0].verdict, Verdict::slower);
      EXPECT_NEAR(analysis.effects[0].ratio.value_or(0), 1.5, 1e-12);
      EXPECT_EQ(analysis.effects[0].reason,
                "the change is exact, because all trials of a level have the same value");
      EXPECT_EQ(analysis.effects[1].verdict, Verdict::same);
      EXPECT_EQ(analysis.effects[1].reason, "there is no difference at all in code-size");
      EXPECT_EQ(analysis.effects[2].verdict, Verdict::faster);
      EXPECT_NEAR(analysis.effects[2].ratio.value_or(0), 0.9, 1e-12);
      EXPECT_THAT(analysis.notes, Not(Contains(HasSubstr("too few trials"))));
      EXPECT_FALSE(findings(analysis).unsure);
      EXPECT_EQ(decide(PrecisionRule{.half_width = 0.01, .min_blocks = 1, .max_blocks = 100},
                       blocks, analysis.effects),
                Stop::precise);
    }
  }
}

TEST(OfBuilds, AFactWithinTheMarginIsTheSame) {
  Spec spec = spec_of(Origin::build);
  spec.equivalence = 0.2;
  const Analysis analysis = analyse(three_levels(3, bytes), spec);
  EXPECT_EQ(analysis.effects.at(0).verdict, Verdict::slower);
  EXPECT_EQ(analysis.effects.at(2).verdict, Verdict::same);
  EXPECT_EQ(analysis.effects[2].reason,
            "the change of code-size is exactly -10 %, which is within the margin of 20 %");
}

TEST(OfBuilds, ADifferenceThatBlocksShareIsExactAlthoughTrialsDiffer) {
  const auto shifted = [](std::uint32_t bench, std::uint32_t opt, std::uint32_t block) {
    return bytes(bench, opt, block) + 16.0 * block;
  };
  Spec spec = spec_of(Origin::build);
  spec.log_scale = false;
  const Analysis analysis = analyse(three_levels(4, shifted), spec);
  EXPECT_EQ(analysis.effects.at(0).reason,
            "the change is exact, because the difference is the same in every block");
}

// Of few builds that are as different nobody knows what the next ones would be.
TEST(OfBuilds, AFewBuildsOfManyShowNothingOfTheOthers) {
  for (const std::uint32_t blocks : {1U, 4U, 5U}) {
    Spec spec = spec_of(Origin::build);
    spec.drawn = {{.subject = "a", .treatment = "opt"}, {.subject = "b", .treatment = "other"}};
    const Analysis analysis = analyse(three_levels(blocks, bytes), spec);
    ASSERT_EQ(analysis.effects.size(), 4U);
    for (const Effect& effect : analysis.effects) {
      expect_no_test(effect);
      const bool known = blocks >= 5 || effect.subject == "b";
      EXPECT_EQ(effect.exact, known);
      EXPECT_EQ(is_withheld(effect), !known) << effect.reason;
      EXPECT_TRUE(effect.ratio.has_value());
    }
    EXPECT_EQ(findings(analysis).unsure, blocks < 5);
    const auto says_what_it_takes =
        Contains(HasSubstr("Use five blocks or seeds ('repetitions'), or a plan without"));
    if (blocks < 5)
      EXPECT_THAT(analysis.notes, says_what_it_takes);
    else
      EXPECT_THAT(analysis.notes, Not(says_what_it_takes));
  }
}

// As with a random order of linking in each block.
TEST(OfBuilds, WhatVariesIsTestedAsEver) {
  const auto varying = [](std::uint32_t bench, std::uint32_t opt, std::uint32_t block) {
    return bytes(bench, opt, block) * (1 + 0.001 * ((7 * block + 3 * opt) % 5));
  };
  const Dataset data = three_levels(9, varying);
  const Analysis plain = analyse(data, spec_of(Origin::trial));
  for (const Origin origin : {Origin::build, Origin::building}) {
    const Analysis analysis = analyse(data, spec_of(origin));
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(plain.effects.at(i).p.has_value());
      EXPECT_EQ(analysis.effects.at(i).p_adjusted, plain.effects[i].p_adjusted);
      EXPECT_EQ(analysis.effects[i].low, plain.effects[i].low);
      EXPECT_EQ(analysis.effects[i].verdict, plain.effects[i].verdict);
      EXPECT_FALSE(analysis.effects[i].exact);
    }
  }
}

TEST(OfBuilds, ManyTrialsOfOneBuildAreOneSampleOfItsTime) {
  const Analysis analysis = analyse(three_levels(30, bytes), spec_of(Origin::building));
  for (const Effect& effect : analysis.effects) {
    expect_no_test(effect);
    EXPECT_FALSE(effect.exact);
    EXPECT_EQ(effect.verdict, Verdict::unsure);
    EXPECT_TRUE(is_withheld(effect));
  }
  EXPECT_NEAR(analysis.effects.at(0).ratio.value_or(0), 1.5, 1e-12);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("all trials of a build share that value")));
}

// Programs are samples of their own, each with a build.
TEST(OfBuilds, SeveralProgramsAnswerForSuchOnes) {
  Spec spec = spec_of(Origin::building);
  spec.design = Design::within_subjects;
  const Analysis analysis = analyse(three_levels(6, bytes), spec);
  std::size_t tested = 0;
  for (const Effect& effect : analysis.effects) {
    if (effect.scope != Scope::like_these) {
      expect_no_test(effect);
    } else if (effect.level == "O1") {
      ++tested;
      EXPECT_NEAR(effect.df.value_or(0), 1, 1e-9);  // two programs, not twelve trials
      EXPECT_GT(effect.p.value_or(0), 0.05);
    }
  }
  EXPECT_EQ(tested, 1U);
}

}  // namespace
}  // namespace stab::stats
