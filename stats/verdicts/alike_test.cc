// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stats/analyse/analyse.h"
#include "stats/oracle/data.h"
#include "stats/verdicts/analysis.h"
#include "stats/verdicts/decide.h"

namespace stab::stats {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Three programs, each compared at two levels of opt in eight blocks.
Dataset three_programs() {
  return oracle::programs(11, {.subjects = 3, .opt = 2, .aslr = 1, .blocks = 8});
}

Spec opt_in_blocks() {
  Spec spec;
  spec.subject = "bench";
  spec.treatments = {"opt"};
  spec.block = "block";
  spec.equivalence = 0.02;
  return spec;
}

Alike alike_of(const Effect& effect) {
  return {.subject = effect.subject,
          .treatment = effect.treatment,
          .first = effect.level,
          .second = effect.baseline};
}

TEST(Alike, IsTheVerdictSameWithItsReasonAndNoTest) {
  Spec spec = opt_in_blocks();
  const Effect tested = analyse(three_programs(), spec).effects.at(1);
  spec.alike = {alike_of(tested)};
  const Analysis analysis = analyse(three_programs(), spec);
  const Effect& same = analysis.effects.at(1);
  EXPECT_EQ(same.verdict, Verdict::same);
  EXPECT_THAT(same.reason, HasSubstr("the binaries at opt = "));
  EXPECT_FALSE(same.p || same.p_same || same.p_adjusted || same.p_same_adjusted || same.df);
  EXPECT_FALSE(same.low_adjusted || same.high_adjusted || same.detectable || same.needed);
  EXPECT_EQ(same.ratio, tested.ratio);
  EXPECT_EQ(same.low, tested.low);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr(tested.subject + ": the binaries at opt = ")));
}

// All that depends on the size of the family: adjusted p and intervals, what can be seen.
TEST(Alike, LeavesTheOthersAFamilyOfTheirOwn) {
  Spec spec = opt_in_blocks();
  const Analysis all = analyse(three_programs(), spec);
  spec.alike = {alike_of(all.effects.at(0)), alike_of(all.effects.at(1))};
  const Effect alone = analyse(three_programs(), spec).effects.at(2);
  EXPECT_EQ(alone.reason, "");
  EXPECT_EQ(alone.p, all.effects[2].p);
  EXPECT_EQ(alone.p_adjusted, alone.p);
  EXPECT_EQ(alone.low_adjusted.value_or(*alone.low), alone.low);
  ASSERT_TRUE(alone.detectable && all.effects[2].detectable);
  EXPECT_LT(*alone.detectable, *all.effects[2].detectable);
}

TEST(Alike, OfAllComparisonsLeavesNothingOpen) {
  Spec spec = opt_in_blocks();
  for (const Effect& effect : analyse(three_programs(), spec).effects)
    spec.alike.push_back(alike_of(effect));
  const Analysis analysis = analyse(three_programs(), spec);
  EXPECT_FALSE(findings(analysis).unsure);
  EXPECT_FALSE(findings(analysis).regressed);
}

TEST(Alike, OnEachMachineIsTheAnswerAboutAllOfThem) {
  Spec spec = opt_in_blocks();
  spec.machines = true;
  spec.design = Design::within_subjects;
  for (const Effect& effect : analyse(three_programs(), spec).effects)
    if (effect.scope == Scope::subject) spec.alike.push_back(alike_of(effect));
  ASSERT_EQ(spec.alike.size(), 3U);
  for (const Effect& effect : analyse(three_programs(), spec).effects) {
    EXPECT_EQ(effect.verdict, Verdict::same) << effect.subject;
    EXPECT_THAT(effect.reason, HasSubstr("the binaries at opt = "));
  }
  spec.alike.pop_back();
  for (const Effect& effect : analyse(three_programs(), spec).effects)
    if (effect.scope != Scope::subject) EXPECT_EQ(effect.reason, "");
}

}  // namespace
}  // namespace stab::stats
