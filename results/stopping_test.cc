// SPDX-License-Identifier: MIT
#include "results/stopping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stab::results {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const plan::Stop precision{
    .rule = plan::StopRule::precision, .half_width = 0.005, .max = 100, .looks = {20, 21, 22}};
const plan::Stop sequential{
    .rule = plan::StopRule::sequential, .half_width = 0, .max = 60, .looks = {20, 40}};

stats::Effect within(double low, double high) {
  stats::Effect effect{.ratio = (low + high) / 2};
  effect.low = low;
  effect.high = high;
  return effect;
}

stats::Analysis with(std::vector<stats::Effect> effects) {
  stats::Analysis analysis;
  analysis.effects = std::move(effects);
  return analysis;
}

TEST(Stopping, ByPrecisionWhenEveryIntervalIsNarrow) {
  const auto narrow = with({within(0.996, 1.004), within(1.1, 1.109)});
  EXPECT_TRUE(look(narrow, precision, 22).stop);
  EXPECT_EQ(look(narrow, precision, 22).words,
            "the widest interval is +-0.45 %, but 0.5 % is requested");
  const auto wide = with({within(0.996, 1.004), within(1.1, 1.12)});
  EXPECT_FALSE(look(wide, precision, 22).stop);
  EXPECT_EQ(look(wide, precision, 22).words,
            "the widest interval is +-1 %, but 0.5 % is requested");
}

TEST(Stopping, NotBeforeTheFewestBlocksNorWithoutAnInterval) {
  EXPECT_FALSE(look(with({within(0.996, 1.004)}), precision, 19).stop);
  EXPECT_FALSE(look(with({within(0.996, 1.004), stats::Effect{}}), precision, 50).stop);
  EXPECT_FALSE(look(with({}), precision, 50).stop);
  EXPECT_FALSE(look(with({}), sequential, 40).stop);
}

TEST(Stopping, WhatIsTheSameByItsBinariesNeedsNoNarrowInterval) {
  stats::Effect known = within(0.9, 1.1);
  known.verdict = stats::Verdict::same;
  known.reason = "the binaries are identical";
  EXPECT_TRUE(look(with({known, within(0.996, 1.004)}), precision, 22).stop);
  EXPECT_FALSE(look(with({known}), precision, 22).stop);
  EXPECT_TRUE(look(with({known}), sequential, 20).stop);
}

TEST(Stopping, SequentiallyWhenEveryComparisonIsDecided) {
  stats::Effect same;
  same.verdict = stats::Verdict::same;
  stats::Effect slower;
  slower.verdict = stats::Verdict::slower;
  EXPECT_TRUE(look(with({same, slower}), sequential, 20).stop);
  EXPECT_EQ(look(with({same, slower}), sequential, 20).words, "2 of 2 comparisons are decided");
  EXPECT_FALSE(look(with({same, stats::Effect{}}), sequential, 20).stop);
  EXPECT_EQ(look(with({stats::Effect{}}), sequential, 20).words, "the comparison is not decided");
}

TEST(Stopping, NobodyWaitsForAControlAndItIsShown) {
  stats::Effect same = within(0.996, 1.004);
  same.verdict = stats::Verdict::same;
  same.level = "new";
  same.low_adjusted = 0.99;
  same.high_adjusted = 1.01;
  stats::Effect again = within(0.9, 1.1);
  again.level = "again";
  stats::Analysis analysis = with({same, again});
  EXPECT_FALSE(look(analysis, sequential, 20).stop);
  analysis.spec.control = "again";
  const Look looked = look(analysis, sequential, 20);
  EXPECT_TRUE(looked.stop);
  EXPECT_TRUE(look(analysis, precision, 22).stop);
  ASSERT_EQ(looked.changes.size(), 2U);
  EXPECT_EQ(looked.changes[0].low, 0.99) << "the interval of the whole family";
  EXPECT_EQ(looked.changes[0].verdict, "same");
  EXPECT_FALSE(looked.changes[0].control);
  EXPECT_TRUE(looked.changes[1].control);
  EXPECT_EQ(looked.changes[1].low, 0.9);
}

TEST(Stopping, ALookEstimatesHowManyBlocksAreNeeded) {
  stats::Effect open;
  open.unit = "block";
  open.estimate = stats::Estimate{.variance = 1e-4, .df = 9, .log = true, .units = 10};
  stats::Analysis analysis = with({open});
  analysis.spec.block = "block";
  const auto needed = [&] { return look(analysis, sequential, 20).changes.at(0).needed; };
  EXPECT_EQ(needed(), std::nullopt) << "there is no margin";
  analysis.spec.equivalence = 0.01;
  ASSERT_TRUE(needed());
  // The error must fall from 1 % to 1 % / (1.96 + 0.84).
  EXPECT_GT(*needed(), 70U);
  EXPECT_LT(*needed(), 95U);
  analysis.effects.push_back(open);
  analysis.effects.back().level = "other";
  EXPECT_GT(*needed(), 95U) << "two comparisons need more";
  analysis.spec.machines = true;
  EXPECT_EQ(needed(), std::nullopt);
}

TEST(Stopping, EachRuleBringsItsErrorControl) {
  stats::Spec spec;
  control_error(spec, precision, 24);
  EXPECT_DOUBLE_EQ(spec.alpha, 0.0375);
  EXPECT_FALSE(spec.looks);
  stats::Spec other;
  control_error(other, sequential, 40);
  EXPECT_DOUBLE_EQ(other.alpha, 0.05);
  ASSERT_TRUE(other.looks);
  EXPECT_THAT(other.looks->planned, ElementsAre(20, 40, 60));
  EXPECT_EQ(other.looks->blocks, 40U);
}

TEST(Stopping, WhereTheTimeEndedItTheLastLookSpendsWhatIsLeft) {
  stats::Spec between;
  control_error(between, sequential, 33, true);
  EXPECT_THAT(between.looks->planned, ElementsAre(20, 33));
  EXPECT_EQ(between.looks->blocks, 33U);
  stats::Spec cancelled;
  control_error(cancelled, sequential, 33);
  EXPECT_THAT(cancelled.looks->planned, ElementsAre(20, 40, 60));
  stats::Spec at_look;
  control_error(at_look, sequential, 40, true);
  EXPECT_THAT(at_look.looks->planned, ElementsAre(20, 40));
  stats::Spec at_first;
  control_error(at_first, sequential, 20, true);
  EXPECT_THAT(at_first.looks->planned, ElementsAre(20));
  stats::Spec at_end;
  control_error(at_end, sequential, 60, true);
  EXPECT_THAT(at_end.looks->planned, ElementsAre(20, 40, 60));
  stats::Spec nothing;
  control_error(nothing, sequential, 0, true);
  EXPECT_THAT(nothing.looks->planned, ElementsAre(20, 40, 60));
}

TEST(Stopping, TheReportSaysTheRuleAndItsLevels) {
  plan::Plan plan;
  plan.design.stop = precision;
  plan.analysis.alpha = 0.05;
  stats::Analysis analysis = with({within(0.996, 1.004)});
  analysis.spec.alpha = 0.0375;
  const report::Stopping stopping = stopping_of(plan, analysis, 22);
  EXPECT_EQ(stopping.words,
            "rule \"precision\": the experiment ends when every interval extends at most 0.5 % to "
            "either side; the experiment has at least 20 and at most 100 blocks; after 22 the "
            "widest interval is +-0.4 %, but 0.5 % is requested");
  ASSERT_EQ(analysis.notes.size(), 1U);
  EXPECT_THAT(analysis.notes[0], HasSubstr("a level of 96.25 %; the actual level is then 95 %."));
}

}  // namespace
}  // namespace stab::results
