// SPDX-License-Identifier: MIT
#include "stats/answer.h"

#include <gtest/gtest.h>

namespace stab::stats {
namespace {

Effect effect(double ratio, double low, double high, std::string subject = "") {
  Effect result{.subject = std::move(subject), .treatment = "opt", .baseline = "O1", .level = "O2"};
  result.ratio = ratio;
  result.low = low;
  result.high = high;
  const double shrink = 0.8;  // the (1 - 2 alpha) interval is shorter
  result.tost_low = ratio - shrink * (ratio - low);
  result.tost_high = ratio + shrink * (high - ratio);
  result.p = 0.003;
  return result;
}

TEST(Verdict, AnIntervalOffOneIsFasterOrSlower) {
  EXPECT_EQ(verdict(effect(0.9, 0.85, 0.95), {}), Verdict::faster);
  EXPECT_EQ(verdict(effect(1.1, 1.05, 1.15), {}), Verdict::slower);
  EXPECT_EQ(verdict(effect(1.0, 0.95, 1.05), {}), Verdict::unsure);
  EXPECT_EQ(verdict(effect(0.9, 0.85, 1.0), {}), Verdict::unsure);
}

TEST(Verdict, WithoutAMarginNothingIsTheSame) {
  EXPECT_EQ(verdict(effect(1.0, 0.9999, 1.0001), {}), Verdict::unsure);
}

TEST(Verdict, AShortIntervalWithinTheMarginIsTheSame) {
  EXPECT_EQ(verdict(effect(1.0, 0.995, 1.005), 0.01), Verdict::same);
  // Clearly different from 1, but by less than what matters.
  EXPECT_EQ(verdict(effect(1.004, 1.002, 1.006), 0.01), Verdict::same);
  // Different from 1, and it may matter.
  EXPECT_EQ(verdict(effect(1.009, 1.004, 1.014), 0.01), Verdict::slower);
  EXPECT_EQ(verdict(effect(1.0, 0.98, 1.02), 0.01), Verdict::unsure);
}

TEST(Verdict, TheMarginIsSymmetricAsARatio) {
  Effect result = effect(0.995, 0.9, 1.1);
  result.tost_low = 1 / 1.01;
  result.tost_high = 1.01;
  EXPECT_EQ(verdict(result, 0.01), Verdict::same);
  result.tost_low = 0.99;  // below 1 / 1.01
  EXPECT_EQ(verdict(result, 0.01), Verdict::unsure);
}

TEST(Verdict, WithoutAnIntervalItIsUnsure) {
  EXPECT_EQ(verdict(Effect(), 0.01), Verdict::unsure);
}

Analysis with(std::vector<Effect> effects, std::size_t suite = 0) {
  Analysis analysis;
  analysis.spec.subject = "benchmark";
  analysis.suite = suite;
  for (Effect& e : effects) e.verdict = verdict(e, analysis.spec.equivalence);
  analysis.effects = std::move(effects);
  return analysis;
}

TEST(Answer, AFasterLevelIsSaidWithItsSizeIntervalAndP) {
  EXPECT_EQ(
      answer(with({effect(0.877, 0.855, 0.899)})),
      "opt: O2 is faster than O1: 12.3 % less wall time (95 % interval 10.1 to 14.5 %, p = 0.003)");
}

TEST(Answer, TheSuiteSpeaksForItsBenchmarks) {
  EXPECT_EQ(answer(with({effect(0.9, 0.8, 1.1, "sort"), effect(1.05, 1.02, 1.08)}, 5)),
            "over 5 benchmarks, opt: O2 is slower than O1: 5.0 % more wall time "
            "(95 % interval 2.0 to 8.0 %, p = 0.003)");
}

TEST(Answer, WhatIsNoTimeIsLowerOrHigher) {
  Analysis analysis = with({effect(0.877, 0.855, 0.899)});
  analysis.spec.unit = Unit::bytes;
  analysis.spec.response = "max_rss";
  EXPECT_EQ(answer(analysis),
            "opt: O2 is lower than O1: 12.3 % less peak memory (95 % interval 10.1 to 14.5 %, p = "
            "0.003)");
}

TEST(Answer, AnUnsureOneSaysHowMuchItMayBe) {
  EXPECT_EQ(answer(with({effect(1.01, 0.95, 1.07)})),
            "opt: cannot tell whether O2 is faster or slower than O1: the change in wall time is "
            "-5.0 to +7.0 % (95 % interval, p = 0.003)");
}

TEST(Answer, TheSameNamesTheMargin) {
  Analysis analysis = with({effect(1.001, 0.997, 1.005)});
  analysis.spec.equivalence = 0.01;
  analysis.effects[0].verdict = verdict(analysis.effects[0], 0.01);
  EXPECT_EQ(answer(analysis),
            "opt: O2 and O1 are the same within 1 %: the change in wall time is -0.22 to +0.42 % "
            "(90 % interval)");
}

TEST(Answer, SeveralBenchmarksAreCounted) {
  EXPECT_EQ(
      answer(with({effect(0.9, 0.85, 0.95, "sort"), effect(0.8, 0.7, 0.9, "fft"),
                   effect(1, 0.9, 1.1, "lua")})),
      "opt: against O1, O2 is faster on 2 of 3 (sort, fft), not clearly different on 1 of 3 (lua)");
}

TEST(Answer, EachTreatmentHasALineAndVerdictsComeFirst) {
  Effect open = effect(1.01, 0.95, 1.07);
  open.treatment = "heap";
  const std::string text = answer(with({open, effect(0.877, 0.855, 0.899)}));
  EXPECT_EQ(
      text.substr(0, text.find('\n')),
      "opt: O2 is faster than O1: 12.3 % less wall time (95 % interval 10.1 to 14.5 %, p = 0.003)");
  EXPECT_EQ(text.find("heap: cannot tell whether"), text.find('\n') + 1);
}

TEST(Answer, ManyWithoutAVerdictAreCounted) {
  std::vector<Effect> effects;
  for (const char* level : {"O2", "O3", "Os", "Oz"}) {
    effects.push_back(effect(1.01, 0.95, 1.07));
    effects.back().level = level;
  }
  EXPECT_EQ(answer(with(effects)), "cannot tell in 4 comparisons (see the changes)");
}

TEST(Answer, NothingToCompareIsSaid) {
  EXPECT_EQ(answer(Analysis()), "cannot tell: there is nothing to compare (see the notes)");
}

TEST(Words, PercentagesHaveTheDigitsThatTheirIntervalAllows) {
  EXPECT_EQ(percent_change(0.87654, 0.8765, 0.8766), "-12.3460 %");
  EXPECT_EQ(percent_change(0.87654, 0.7, 1.0), "-12 %");
  EXPECT_EQ(percent_change(1.0, 0.9, 1.1), "0 %");
  EXPECT_EQ(percent_change(2.5, {}, {}), "+150 %");
  EXPECT_EQ(percent_interval(0.9, 1.0), "-10.0 to 0.0 %");
}

TEST(Words, SmallPAreNotDrawnOut) {
  EXPECT_EQ(p_words(0.0898596), "p = 0.0899");
  EXPECT_EQ(p_words(0.00012345), "p = 0.000123");
  EXPECT_EQ(p_words(1e-9), "p < 0.0001");
}

}  // namespace
}  // namespace stab::stats
