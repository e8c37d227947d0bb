// SPDX-License-Identifier: MIT
#include "report/words/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stats/data/notes.h"
#include "stats/verdicts/decide.h"
#include "stats/verdicts/foresight.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Effect;
using stats::Programs;
using stats::Scope;
using stats::Spec;
using stats::Unit;
using stats::Verdict;

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Effect effect(Verdict verdict, double ratio, double low, double high, std::string subject = "") {
  Effect result{.subject = std::move(subject), .treatment = "opt", .baseline = "O1", .level = "O2"};
  result.ratio = ratio;
  result.low = low;
  result.high = high;
  const double shrink = 0.8;  // the (1 - 2 alpha) interval is shorter
  result.tost_low = ratio - shrink * (ratio - low);
  result.tost_high = ratio + shrink * (high - ratio);
  result.p = 0.003;
  result.p_adjusted = verdict == Verdict::unsure ? 0.07 : 0.003;
  result.verdict = verdict;
  return result;
}

Effect faster() {
  return effect(Verdict::faster, 0.877, 0.855, 0.899);
}
Effect unsure(std::string subject = "") {
  return effect(Verdict::unsure, 1.01, 0.95, 1.07, std::move(subject));
}

// Raw numbers without a ratio.
Effect difference(Verdict verdict, double value, double half) {
  Effect result{.treatment = "opt", .baseline = "O1", .level = "O2"};
  result.difference = value;
  result.difference_low = value - half;
  result.difference_high = value + half;
  result.p = 0.003;
  result.p_adjusted = 0.003;
  result.verdict = verdict;
  return result;
}

Analysis with(std::vector<Effect> effects) {
  Analysis analysis;
  analysis.spec.subject = "benchmark";
  analysis.effects = std::move(effects);
  return analysis;
}

Analysis suite_of(std::size_t members, std::vector<Effect> effects) {
  Analysis analysis = with(std::move(effects));
  analysis.suite = members;
  for (Effect& e : analysis.effects)
    if (e.subject.empty()) e.scope = Scope::like_these;
  return analysis;
}

TEST(Answer, AFasterLevelIsSaidWithItsSizeIntervalAndP) {
  EXPECT_EQ(answer(with({faster()})),
            "opt=O2 takes 12.3 % less wall time than opt=O1 (95 % interval 10.1 to 14.5 %, "
            "p = 0.003)");
}

TEST(Answer, TheSuiteSpeaksForProgramsLikeThese) {
  const Analysis analysis =
      suite_of(5, {unsure("sort"), effect(Verdict::slower, 1.05, 1.02, 1.08)});
  EXPECT_EQ(answer(analysis),
            "on benchmarks like these 5, opt=O2 takes 5.0 % more wall time than opt=O1 "
            "(95 % interval 2.0 to 8.0 %, p = 0.003)");
}

TEST(Answer, OnTheseProgramsIfThePlanSaysSo) {
  Analysis analysis = with({faster()});
  analysis.suite = 5;
  analysis.spec.programs = Programs::these;
  analysis.effects[0].scope = Scope::these;
  EXPECT_THAT(answer(analysis), StartsWith("on these 5 benchmarks, opt=O2 takes 12.3 % less"));
}

TEST(Answer, MembersThatChangedAreNamedWhateverTheSuiteSays) {
  const Analysis analysis =
      suite_of(5, {effect(Verdict::faster, 0.9, 0.85, 0.95, "sort"), unsure("fft"), unsure()});
  EXPECT_THAT(answer(analysis), EndsWith("1 of 2 comparisons within a single benchmark found a "
                                         "change: sort at opt=O2 (-10.0 %)"));
}

TEST(Answer, WhatIsNoTimeIsHad) {
  Analysis analysis = with({faster()});
  analysis.spec.unit = Unit::number;
  analysis.spec.response = "requests";
  EXPECT_THAT(answer(analysis), StartsWith("opt=O2 has 12.3 % fewer requests than opt=O1 ("));
}

TEST(Answer, WithoutARatioItIsTheDifferenceInItsUnit) {
  Analysis analysis = with({difference(Verdict::faster, -1.975e6, 0.9e6)});
  EXPECT_EQ(answer(analysis),
            "opt=O2 takes 1.975 ms less wall time than opt=O1 (95 % interval 1.075 to 2.875 ms, "
            "p = 0.003)");
  analysis = with({difference(Verdict::unsure, -0.5, 0.9)});
  analysis.spec.unit = Unit::number;
  EXPECT_THAT(answer(analysis), HasSubstr("the change is -1.4 to +0.4 (95 % interval, p = 0.003)"));
  analysis.effects.front().difference_high = 2;
  EXPECT_THAT(answer(analysis), HasSubstr("the change is -1.4 to +2.0 (95 % interval, p = 0.003)"));
}

TEST(Answer, AVerdictWithoutAnyIntervalHasADirection) {
  Effect bare{.treatment = "opt", .baseline = "O1", .level = "O2"};
  bare.ratio = 0.5;
  bare.p = 0.003;
  bare.verdict = Verdict::faster;
  EXPECT_EQ(answer(with({bare})), "opt=O2 takes less wall time than opt=O1 (p = 0.003)");
}

TEST(Answer, AnUnsureOneSaysHowMuchItMayBe) {
  EXPECT_EQ(answer(with({unsure()})),
            "cannot tell whether opt=O2 takes more or less wall time than opt=O1: the change is "
            "-5.0 to +7.0 % (95 % interval, p = 0.003); it needs more trials, at least 6");
}

TEST(Answer, AnUnsureOneWhoseOwnIntervalExcludesNoChangeSaysWhy) {
  EXPECT_THAT(
      answer(with({effect(Verdict::unsure, 1.05, 1.01, 1.09)})),
      HasSubstr("; this comparison alone would count as a change, but not after the correction "
                "for all comparisons (adjusted p = 0.07)"));
}

TEST(Answer, AnUnsureOneThatWouldBeTheSameByItselfSaysWhy) {
  Analysis analysis = with({effect(Verdict::unsure, 1.001, 0.997, 1.005)});
  analysis.spec.equivalence = 0.01;
  analysis.effects[0].p_same = 0.04;
  analysis.effects[0].p_same_adjusted = 0.08;
  EXPECT_THAT(
      answer(analysis),
      HasSubstr("; this comparison alone would count as the same within 1 %, but not after the "
                "correction for all comparisons (adjusted p = 0.08)"));
}

TEST(Answer, AnUnsureOneSaysWhatCouldHaveBeenSeenAndWhatItTakes) {
  Analysis analysis = with({unsure()});
  analysis.spec.equivalence = 0.01;
  Effect& only = analysis.effects[0];
  only.unit = "block";
  only.units = 10;
  only.detectable = 0.021;
  only.needed = 45;
  EXPECT_THAT(answer(analysis), EndsWith("; with 10 blocks a change of 2.1 % is found in 8 of 10 "
                                         "cases, for 1 % it would take about 45 blocks"));
}

TEST(Answer, AnUnsureOneHasANextStepWhateverIsKnown) {
  Analysis analysis = with({unsure()});
  Effect& only = analysis.effects[0];
  only.unit = "block";
  only.units = 50;
  EXPECT_THAT(answer(analysis), EndsWith("; it needs more than 50 blocks"));
  only.detectable = 0.021;
  EXPECT_THAT(answer(analysis),
              EndsWith("; with 50 blocks a change of 2.1 % is found in 8 of 10 cases, half of that "
                       "with about 200 blocks; to make 'the same' a possible answer, set "
                       "'equivalence' (the smallest change that matters)"));
  analysis.spec.equivalence = 0.03;
  EXPECT_THAT(answer(analysis),
              EndsWith("8 of 10 cases, for 3 % it would take more than 10 million blocks: choose a "
                       "larger margin"));
  only.needed = 27;
  EXPECT_THAT(answer(analysis),
              EndsWith("8 of 10 cases; about 200 blocks would make the interval half as wide"));
}

TEST(Answer, AnUnsureOneWithoutAnIntervalTakesMoreTrials) {
  Effect bare{.treatment = "opt", .baseline = "O1", .level = "O2"};
  bare.unit = "block";
  bare.units = 1;
  EXPECT_EQ(answer(with({bare})),
            "cannot tell whether opt=O2 takes more or less wall time than opt=O1 (see the notes); "
            "it needs more blocks, at least 6");
}

TEST(Answer, TheSameNamesTheMargin) {
  Analysis analysis = with({effect(Verdict::same, 1.001, 0.997, 1.005)});
  analysis.spec.equivalence = 0.01;
  EXPECT_EQ(answer(analysis),
            "opt=O2 and opt=O1 are the same within 1 %: the change in wall time is -0.30 to "
            "+0.50 % (95 % interval)");
  analysis.effects[0] = effect(Verdict::same, 1.004, 1.002, 1.006);
  EXPECT_THAT(answer(analysis), EndsWith("; there is a change, but not one that matters"));
  analysis.effects[0].p_adjusted = 0.09;
  EXPECT_THAT(answer(analysis), EndsWith("; there may be a change, but not one that matters"));
  analysis.effects[0] = effect(Verdict::same, 1.001, 0.990, 1.012);
  EXPECT_THAT(answer(analysis),
              EndsWith("is -1.0 to +1.2 % (95 % interval; the verdict uses the 90 % interval, "
                       "-0.78 to +0.98 %)"))
      << "the shorter interval decides";
}

TEST(Answer, NumbersThatAreRelativeHaveAHeadingThatSaysSo) {
  Spec spec{.response = "relative_cpu"};
  spec.ratio_of_times = true;
  EXPECT_EQ(value_words(spec), "relative CPU");
  EXPECT_EQ(response_words(spec), "CPU time") << "a change of the ratio is one of the time";
  EXPECT_EQ(value_words(Spec{.response = "cpu"}), "CPU time");
}

TEST(Answer, AReasonStandsForTheNumbers) {
  Analysis analysis = with({effect(Verdict::same, 1, 1, 1)});
  analysis.effects[0].reason = "their binaries are identical";
  EXPECT_EQ(answer(analysis), "opt=O2 and opt=O1 are the same: their binaries are identical");
}

// Of what is known of the builds.
TEST(Answer, AFactIsSaidExactly) {
  Effect fact{.treatment = "opt", .baseline = "O1", .level = "O2"};
  fact.ratio = 1.532;
  fact.verdict = Verdict::slower;
  fact.exact = true;
  fact.reason = "the change is exact, because all trials of a level have the same value";
  Analysis analysis = with({fact});
  analysis.spec.response = "code-size";
  analysis.spec.unit = Unit::bytes;
  EXPECT_EQ(
      answer(analysis),
      "opt=O2 takes 53.2 % more code than opt=O1 (the change is exact, because all trials of a "
      "level have the same value)");
}

TEST(Answer, OneSampleHasAChangeAndNoVerdict) {
  Effect once{.treatment = "opt", .baseline = "O1", .level = "O2"};
  once.ratio = 2.5;
  stats::withhold(once, "each level was built once");
  Analysis analysis = with({once});
  analysis.spec.response = "compile-time";
  EXPECT_EQ(
      answer(analysis),
      "no verdict on opt=O2 against opt=O1: the change is +150 %, without an interval (see the "
      "notes)");
}

TEST(Answer, SeveralBenchmarksAreCounted) {
  EXPECT_EQ(answer(with({effect(Verdict::faster, 0.9, 0.85, 0.95, "sort"),
                         effect(Verdict::faster, 0.8, 0.7, 0.9, "fft"), unsure("lua")})),
            "against opt=O1, opt=O2 is faster on 2 of 3 (sort, fft), not clearly different on 1 of "
            "3 (lua); it needs more trials, at least 6");
}

TEST(Answer, InteractionsBeyondTheSecondAreCountedThoseThatAreCertainApart) {
  Analysis analysis = with({faster()});
  analysis.spec.treatments = {"a", "b", "c", "d"};
  auto& all = analysis.interactions;
  for (const char* term : {"a:b", "a:c", "b:c", "a:d", "b:d"}) {
    all.push_back({.subject = analysis.effects[0].subject, .term = term});
    all.back().p = all.back().p_adjusted = 0.001;
  }
  all[3].reason = all[4].reason = "trials are missing";
  EXPECT_THAT(answer(analysis), HasSubstr("and 1 more interaction between treatments"));
  EXPECT_THAT(answer(analysis), HasSubstr("and 2 more possible interactions between treatments"));
  EXPECT_THAT(answer(analysis), Not(HasSubstr("may interact")));
}

TEST(Answer, APossibleInteractionSaysWhatElseMayExplainIt) {
  Analysis analysis = with({faster()});
  analysis.spec.treatments = {"a", "b"};
  analysis.spec.block = "k";
  analysis.interactions = {{.subject = analysis.effects[0].subject, .term = "a:b"}};
  stats::Interaction& both = analysis.interactions[0];
  both.p = both.p_adjusted = 0.02;
  EXPECT_THAT(answer(analysis), HasSubstr("a and b interact (p = 0.02)"));
  both.reason = "trials are missing";
  EXPECT_THAT(answer(analysis), HasSubstr("a and b may interact (p = 0.02), but missing trials"));
  both.reason = "too few independent ks";
  both.few_independent.emplace();
  EXPECT_THAT(
      answer(analysis),
      HasSubstr("a and b may interact (p = 0.02), but there are too few independent ks to be "));
}

TEST(Answer, APossibleInteractionWithinTheMarginIsNotPartOfIt) {
  Analysis analysis = with({faster()});
  analysis.spec.treatments = {"a", "b"};
  analysis.spec.block = "k";
  analysis.spec.equivalence = 0.02;
  analysis.interactions = {{.subject = analysis.effects[0].subject, .term = "a:b"}};
  stats::Interaction& both = analysis.interactions[0];
  both.p = both.p_adjusted = 0.02;
  both.ratio = 1.005;
  both.low = 1.001;
  both.high = 1.009;
  both.reason = "too few independent ks";
  both.few_independent.emplace();
  EXPECT_THAT(answer(analysis), Not(HasSubstr("interact")));
  both.loss_low = 1.001;
  EXPECT_THAT(answer(analysis), HasSubstr("may interact")) << "no limit above";
  both.loss_high = 1.03;
  EXPECT_THAT(answer(analysis), HasSubstr("may interact"));
  both.loss_high = 1.01;
  EXPECT_THAT(answer(analysis), Not(HasSubstr("interact")));
  both.high = 1.03;
  EXPECT_THAT(answer(analysis), HasSubstr("may interact"));
  both.high = 1.009;
  both.few_independent.reset();
  EXPECT_THAT(answer(analysis), HasSubstr("may interact")) << "missing trials may have made it";
}

TEST(Answer, EachTreatmentHasALineAndVerdictsComeFirst) {
  Effect open = unsure();
  open.treatment = "heap";
  const std::string text = answer(with({open, faster()}));
  EXPECT_THAT(text, StartsWith("opt=O2 takes 12.3 % less wall time"));
  EXPECT_EQ(text.find("cannot tell whether heap=O2"), text.find('\n') + 1);
}

TEST(Answer, ManyWithoutAVerdictAreCounted) {
  std::vector<Effect> effects;
  for (const char* level : {"O2", "O3", "Os", "Oz"}) {
    effects.push_back(unsure());
    effects.back().level = level;
  }
  EXPECT_EQ(
      answer(with(effects)),
      "cannot tell whether the levels differ in 4 comparisons (see the changes); it needs more "
      "trials, at least 6");
  for (std::size_t i = 0; i < effects.size(); ++i) {
    effects[i].unit = "block";
    effects[i].units = 12;
    effects[i].detectable = 0.01 * static_cast<double>(i + 1);
  }
  EXPECT_EQ(
      answer(with(effects)),
      "cannot tell whether the levels differ in 4 comparisons (see the changes); with 12 blocks a "
      "change of 1 to 4 % is found in 8 of 10 cases, half of that with about 48 blocks; to make "
      "'the same' a possible answer, set 'equivalence' (the smallest change that matters)");
  effects[3].detectable = 7e9;
  EXPECT_THAT(answer(with(effects)), HasSubstr("a change of 1 to more than 1000 % is found"));
}

TEST(Answer, BelowFiveDegreesOfFreedomOnlyLargeEffectsCanBeSeen) {
  Analysis analysis = with({faster()});
  analysis.effects[0].unit = "block";
  analysis.effects[0].units = 5;
  analysis.effects[0].df = 4;
  EXPECT_THAT(answer(analysis), EndsWith("\nWith 4 degrees of freedom from 5 blocks, only large "
                                         "effects can be seen: more blocks would help"));
  analysis.effects[0].df = 5;
  EXPECT_THAT(answer(analysis), Not(HasSubstr("degrees of freedom")));
}

TEST(Answer, FewDegreesOfFreedomAreSaidOnceForEachKindOfUnit) {
  Effect one = faster();
  one.unit = "program";
  one.units = 2;
  one.df = 1;
  Effect two = one;
  two.df = 3;
  Effect three = one;
  three.unit = "s";
  three.units = 3;
  three.df = 2;
  EXPECT_THAT(stats::few_sentences({&two, &one, &three}),
              ElementsAre("With 1 degree of freedom from 2 programs, only large effects can be "
                          "seen: more programs would help",
                          "With 2 degrees of freedom from 3 levels of s, only large effects can be "
                          "seen: more levels of s would help"));
}

TEST(Answer, NothingToCompareIsSaid) {
  EXPECT_EQ(answer(Analysis()),
            "cannot tell: there is nothing to compare (see the notes); a treatment needs two "
            "levels, each with successful trials");
}

TEST(Words, WhereMoreIsBetterWordsAreDirectionsOfTheNumber) {
  Spec spec{.unit = Unit::number, .higher_is_better = true};
  EXPECT_EQ(verdict_text(Verdict::faster, spec), "higher");
  EXPECT_EQ(verdict_text(Verdict::slower, spec), "lower");
  spec.unit = Unit::nanoseconds;
  EXPECT_EQ(verdict_text(Verdict::faster, spec), "higher");
  EXPECT_EQ(verdict_text(Verdict::faster, {}), "faster");
}

TEST(Words, PercentagesHaveTheDigitsThatTheirIntervalAllows) {
  EXPECT_EQ(percent_change(0.87654, 0.8765, 0.8766), "-12.3460 %");
  EXPECT_EQ(percent_change(0.87654, 0.7, 1.0), "-12 %");
  EXPECT_EQ(percent_change(1.0, 0.9, 1.1), "0 %");
  EXPECT_EQ(percent_change(2.5, {}, {}), "+150 %");
  EXPECT_EQ(percent_interval(0.9, 1.0), "-10.0 to 0.0 %");
}

// Counts hardly vary, so tiny changes of them are significant.
TEST(Words, TinyChangesAreNotRoundedToNone) {
  EXPECT_EQ(answer(with({effect(Verdict::slower, 1.0000003, 1.00000028, 1.00000032)})),
            "opt=O2 takes 0.0000300 % more wall time than opt=O1 (95 % interval 0.0000280 to "
            "0.0000320 %, p = 0.003)");
  EXPECT_EQ(percent_change(1.0000004, {}, {}), "+0.0000400 %");
  EXPECT_EQ(percent_interval(0.99999998, 1.00000002), "-0.0000020 to +0.0000020 %");
  // A change that is only a rounding error has no such digits.
  EXPECT_EQ(percent_change(1 + 1e-15, 1, 1 + 2e-15), "0.0000 %");
  EXPECT_EQ(percent_change(0.9, 0.9 - 1e-15, 0.9 + 1e-15), "-10.0000 %");
}

TEST(Words, SmallPAreNotDrawnOut) {
  using stats::p_words;
  EXPECT_EQ(p_words(0.0898596), "p = 0.0899");
  EXPECT_EQ(p_words(0.00012345), "p = 0.000123");
  EXPECT_EQ(p_words(1e-9), "p < 0.0001");
}

TEST(Words, MarginsHaveTwoDigits) {
  EXPECT_EQ(margin_words(0.00834), "0.83 %");
  EXPECT_EQ(margin_words(0.0834), "8.3 %");
  EXPECT_EQ(margin_words(0.834), "83 %");
  EXPECT_EQ(margin_words(0), "0 %");
}

TEST(Answer, OfACalibrationIsTheNoiseFloor) {
  stats::Calibration calibration{.blocks = 10};
  calibration.any = {.comparisons = 100,
                     .significant = 6,
                     .share = stats::Interval{.low = 0.022, .high = 0.126},
                     .margin = 0.0083,
                     .interval = stats::Interval{.low = 0.0071, .high = 0.012}};
  Analysis analysis;
  analysis.calibration = calibration;
  EXPECT_EQ(
      answer(analysis),
      "this machine cannot resolve changes below 0.83 % in wall time (95 % interval 0.71 % "
      "to 1.2 %) with 10 blocks. This limit is the noise floor: if a program is compared with "
      "itself, the change stays within this limit in 95 % of the comparisons; 6 of 100 comparisons "
      "came out significant, 6 % (95 % interval 2.2 % "
      "to 12.6 %), where 5 % is expected");
  analysis.calibration->any = {};
  EXPECT_EQ(answer(analysis),
            "cannot tell which changes this machine can resolve: there are too few comparisons "
            "(see the notes); raise 'design.comparisons' or use more benchmarks");
}

TEST(Answer, VerdictsThatAreWithheldAreSaidToBe) {
  Effect only = effect(Verdict::faster, 0.1, 0.09, 0.11);
  only.unit = "trial";
  only.df = 3;
  stats::withhold(only, "one session per arm");
  Analysis analysis = with({only});
  analysis.withheld = "one session per arm";
  EXPECT_EQ(answer(analysis),
            "no verdict: one session per arm\nno verdict on opt=O2 against opt=O1: the change is "
            "-91.0 to -89.0 % (95 % interval, p = 0.003); the notes say what would help");
}

TEST(Answer, AWithheldVerdictIsNotCalledNoClearDifference) {
  Analysis analysis = with({effect(Verdict::faster, 0.1, 0.09, 0.11, "sort"), unsure("lua"),
                            effect(Verdict::slower, 9, 8, 10, "fft")});
  for (Effect& each : analysis.effects) {
    each.unit = "trial";
    each.df = 3;
  }
  stats::withhold(analysis.effects[0], "some trials have no wall time");
  EXPECT_THAT(answer(analysis),
              StartsWith("against opt=O1, opt=O2 is slower on 1 of 3 (fft), not clearly different "
                         "on 1 of 3 (lua), without a verdict on 1 of 3 (sort); it needs more "
                         "trials, at least 6\nWith 3 degrees"));
  for (Effect& each : analysis.effects) stats::withhold(each, "one session per arm");
  EXPECT_EQ(answer(analysis),
            "against opt=O1, opt=O2 is without a verdict on 3 of 3 (sort, lua, fft)");
}

}  // namespace
}  // namespace stab::report
