// SPDX-License-Identifier: MIT
#include "report/text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_document.h"
#include "report/text_testing.h"
#include "report/words/grid.h"
#include "stats/analyse/analyse.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Text, AFullOneSaysTheAnswerFirstAndLast) {
  const std::string report = text(sample_document(), full);
  const std::string start =
      "Answer: on benchmarks like these 6, opt=O2 takes 2.5 % less wall time than opt=O1";
  EXPECT_LT(report.find(start), report.find("Wall time"));
  EXPECT_GT(report.rfind(start), report.find("Failures"));
}

TEST(Text, AFullOneHoldsTheTablesWithTheirNumbers) {
  const std::string report = text(sample_document(), full);
  EXPECT_THAT(report, HasSubstr("  sort       O1        5  196.9 ms  195.2 to 198.5 ms  0.68 %\n"));
  EXPECT_THAT(
      report,
      HasSubstr("  like these  opt: O1 -> O2   -2.5 %    -3.7 to -1.2 %   0.00304     -3.7 to "));
  EXPECT_THAT(report, HasSubstr("benchmarks like these: log(wall) ~ opt + Error(benchmark/opt)\n"));
  EXPECT_THAT(
      report,
      HasSubstr("  block:opt  opt         1        0.001587     0.001587  161.1  0.000222  "));
  EXPECT_THAT(report, HasSubstr("Assumptions\n"));
  EXPECT_THAT(report, HasSubstr("  - sort at opt=O2: timeout after 60 s (2 trials)\n"));
  EXPECT_THAT(report, HasSubstr("60 ok, 2 failed of 62 planned, in 2 min 5 s"));
}

// The analysis alone, as 'stabctl analyze' and 'compare' show it.
std::string brief(const Document& document) {
  return analysis_text("data", document.analysis);
}

TEST(Text, AnotherAnswerTakesThePlaceOfItsOwnAndStandsOnce) {
  const auto count = [](const std::string& text, std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  const std::string own = text(sample_document(), full);
  EXPECT_EQ(count(own, "Answer: "), 2U);
  const std::string other =
      text(sample_document(), {.full = true, .answer = "new is slower\nthe control is quiet"});
  EXPECT_EQ(count(other, "Answer: "), 1U);
  EXPECT_THAT(other, HasSubstr("\n\nAnswer: new is slower\n        the control is quiet\n\n"));
  EXPECT_EQ(count(other, "on benchmarks like these 6, opt=O2"), 0U);
}

TEST(Text, AShortOneLeavesOutTheMeansOfManyCells) {
  Document document = sample_document();
  auto& means = document.analysis.means;
  while (means.size() < 17) means.push_back(means.back());
  EXPECT_THAT(brief(document), Not(HasSubstr("Geometric means")));
  EXPECT_THAT(brief(document), HasSubstr("With --full: means of 17 cells, "));
  EXPECT_THAT(text(document, full), HasSubstr("Geometric means"));
  document.analysis.effects.clear();  // then the means are all that there is
  EXPECT_THAT(brief(document), HasSubstr("Geometric means"));
}

TEST(Text, AShortOneHasOfManySingleComparisonsThoseWithAVerdict) {
  Document document = sample_document();
  auto& effects = document.analysis.effects;
  stats::Effect single = effects.front();
  for (int i = 0; i < 30; ++i) {
    single.subject = fmt::format("b{}", i);
    single.verdict = i < 3 ? stats::Verdict::slower : stats::Verdict::unsure;
    effects.push_back(single);
  }
  const std::string report = brief(document);
  EXPECT_THAT(report, HasSubstr("  b2 "));
  EXPECT_THAT(report, Not(HasSubstr("  b3 ")));
  EXPECT_THAT(report, HasSubstr(" more comparisons of a single benchmark: see --full\n"));
  EXPECT_THAT(text(document, full), HasSubstr("  b29 "));
}

TEST(Text, TheScopeThatDecidesIsTheFirstOfTheChanges) {
  Document document = sample_document();
  const std::string like = brief(document);
  EXPECT_LT(like.find("\n  like these  opt"), like.find("\n  these 6  "));
  EXPECT_LT(like.find("\n  these 6  "), like.find("\n  sort  "));
  document.analysis.spec.programs = stats::Programs::these;
  const std::string these = brief(document);
  EXPECT_LT(these.find("\n  these 6  "), these.find("\n  like these  opt"));
}

TEST(Text, AFamilyHasAdjustedIntervalsBesideTheVerdict) {
  const std::string report = brief(sample_document());
  EXPECT_THAT(line_with(report, "  benchmark   comparison"),
              AllOf(HasSubstr("change  adjusted interval  adjusted p  verdict"),
                    Not(HasSubstr("95 % interval"))));
  EXPECT_THAT(line_with(text(sample_document(), full), "  benchmark   comparison"),
              HasSubstr("95 % interval         p  adjusted interval  adjusted p  verdict"));
  Document alone = sample_document();
  alone.analysis.effects.erase(alone.analysis.effects.begin() + 1, alone.analysis.effects.end());
  EXPECT_THAT(line_with(brief(alone), "  benchmark  comparison"), HasSubstr("p  verdict "));
  EXPECT_THAT(line_with(brief(alone), "  benchmark  comparison"), Not(HasSubstr("adjusted")));
}

TEST(Text, WithheldChangesKeepTheirOwnIntervalsAndP) {
  Document document = sample_document();
  for (stats::Effect& each : document.analysis.effects)
    stats::withhold(each, "one session per arm");
  EXPECT_THAT(
      line_with(brief(document), "  benchmark   comparison"),
      AllOf(HasSubstr("95 % interval"), HasSubstr("p  verdict"), Not(HasSubstr("adjusted"))));
}

TEST(Text, VerdictsThatSeemToDisagreeWithAnIntervalAreExplained) {
  Document document = sample_document();
  auto& effects = document.analysis.effects;
  for (auto& effect : effects) effect = effects.front();
  effects[0].low = 1.01;
  effects[0].high = 1.05;
  effects[0].verdict = stats::Verdict::unsure;
  for (std::size_t i = 1; i < effects.size(); ++i) {
    effects[i].low = 0.9;
    effects[i].high = 1.1;
    effects[i].verdict = stats::Verdict::unsure;
  }
  EXPECT_THAT(words_of(text(document, full)),
              HasSubstr("the change would have a verdict if it were the only comparison"));
  EXPECT_THAT(words_of(text(document, full)), Not(HasSubstr("Holm's steps")));
  effects[0].verdict = stats::Verdict::slower;
  effects[0].low_adjusted = 0.99;
  effects[0].high_adjusted = 1.07;
  EXPECT_THAT(words_of(text(document, full)),
              HasSubstr("Holm's procedure finds more changes than simultaneous intervals"));
  EXPECT_THAT(words_of(text(document, full)), Not(HasSubstr("if it were the only comparison")));
}

TEST(Text, WhatHasNoRatioHasADifference) {
  const stats::Spec spec{.unit = stats::Unit::nanoseconds, .log_scale = false};
  const std::string report =
      text(of_blocks(
               8, 2, [](auto b, auto l) { return 1e6 * (-50.0 - 30.0 * l + noise(b, l)); }, spec),
           full);
  const std::string row = line_with(report, "  opt: L0 -> L1");
  EXPECT_THAT(row, ContainsRegex("-[0-9.]+ ms +-[0-9.]+ to -[0-9.]+ ms"));
  EXPECT_THAT(row, EndsWith("faster"));
  EXPECT_THAT(words_of(report), HasSubstr("A change without % is a difference of wall time"));
}

TEST(Text, EpsilonIsShownAndExplainedWhereATermHasOne) {
  const auto y = [](auto b, auto l) { return 100 + 5.0 * l + noise(b, l); };
  const std::string report = text(of_blocks(10, 4, y, {}), full);
  EXPECT_THAT(report, HasSubstr("F  epsilon  "));
  EXPECT_THAT(words_of(report), HasSubstr("the degrees of freedom of F are multiplied by epsilon"));
  EXPECT_THAT(text(sample_document(), full), Not(HasSubstr("psilon")));
}

TEST(Text, TheRandomizationTestSaysWhatItDecidesAndWhatItsNumbersAre) {
  const auto y = [](auto b, auto l) { return 100 + 50.0 * l + noise(b, l); };
  stats::Spec spec;
  spec.order_drawn = true;
  const std::string one = words_of(text(of_blocks(13, 2, y, spec), full));
  EXPECT_THAT(one, HasSubstr("A change gets a verdict only if this test and the test above agree. "
                             "If there are too few blocks for this test to find any change, the "
                             "test above decides alone, and a note says so."));
  EXPECT_THAT(one, HasSubstr("'Farthest' is the block whose change is farthest from the mean "
                             "change, and 'without it' is the mean change of the other blocks."));
  EXPECT_THAT(one, Not(HasSubstr("Both are corrected for all looks")));
  EXPECT_THAT(one, Not(HasSubstr("They are for one comparison alone")));
  spec.looks = stats::Looks{.planned = {10, 13}, .blocks = 13};
  const std::string looks = words_of(text(of_blocks(13, 3, y, spec), full));
  EXPECT_THAT(looks, HasSubstr("Both are corrected for all looks at the data."));
  EXPECT_THAT(looks, HasSubstr("They are for one comparison alone, but verdicts are corrected for "
                               "all comparisons."));
}

TEST(Text, ATermWithMoreLevelsThanUnitsSaysWhyItHasNoF) {
  const auto y = [](auto b, auto l) { return 100 + 5.0 * l + noise(b, l); };
  const std::string report = text(of_blocks(4, 5, y, {}), full);
  EXPECT_THAT(
      words_of(report),
      HasSubstr("There is no F for opt: 4 levels of block are too few for the F test of opt."));
  EXPECT_THAT(text(of_blocks(6, 5, y, {}), full), Not(HasSubstr("no F for")));
}

TEST(Text, WhereMoreIsBetterItSaysSo) {
  stats::Spec spec{.unit = stats::Unit::number};
  spec.response = "requests";
  spec.higher_is_better = true;
  const auto y = [](auto b, auto l) { return 100 + 50.0 * l + noise(b, l); };
  const std::string report = text(of_blocks(10, 2, y, spec), {.colour = true, .full = true});
  EXPECT_THAT(words_of(report), HasSubstr("negative change means lower; more is better."));
  EXPECT_THAT(report, HasSubstr("means of the trials; more is better."));
  EXPECT_THAT(report, Not(HasSubstr("less is better")));
  EXPECT_THAT(
      words_of(report),
      HasSubstr("lower: the change is below 0 with p < 0.05; higher: the change is above 0"));
  EXPECT_THAT(report, HasSubstr("\x1b[32mhigher\x1b[0m"));
}

TEST(Text, AShortOneHasTheAliasesOfTreatmentsOnly) {
  Document document = sample_document();
  document.analysis.spec.treatments = {"a", "b", "c"};
  document.analysis.spec.chains = {{.effect = 1, .aliases = "b:c"},
                                   {.effect = 6, .aliases = "x:y"}};
  EXPECT_THAT(brief(document), HasSubstr("  a = b:c\n"));
  EXPECT_THAT(brief(document), Not(HasSubstr("x:y")));
  EXPECT_THAT(words_of(brief(document)), HasSubstr("With --full: aliases of interactions, "));
  EXPECT_THAT(text(document, full), HasSubstr("  b:c = x:y\n"));
}

TEST(Text, SaysWhatWasRandomized) {
  Document document = sample_document();
  EXPECT_THAT(text(document, full), Not(HasSubstr("Layout")));
  document.layouts = {.randomized = 30,
                      .unrandomized = 30,
                      .kinds = "code once",
                      .least_share = 0.97,
                      .median_share = 0.9842,
                      .median_epochs = 1};
  EXPECT_THAT(text(document, full),
              HasSubstr("  Layout    30 of 60 trials randomized (code once); 98.42 % of their code "
                        "moved (at least 97 %)\n"));
  document.layouts = {.randomized = 60,
                      .kinds = "code repeated",
                      .least_share = 1,
                      .median_share = 1,
                      .median_epochs = 41.5,
                      .few_epochs = 2};
  const std::string repeated = text(document, full);
  EXPECT_THAT(repeated,
              HasSubstr("60 of 60 trials randomized (code, again and again); 100 % of their"));
  EXPECT_THAT(words_of(repeated), HasSubstr("median of 41.5 layouts per run"));
  EXPECT_THAT(repeated, HasSubstr("warning: 2"));
  EXPECT_THAT(repeated, HasSubstr("fewer than 30 layouts"));
}

TEST(Text, SaysWhichDirectionIsBetter) {
  EXPECT_THAT(text(sample_document(), full), HasSubstr("less is better"));
  EXPECT_THAT(words_of(text(sample_document(), full)), HasSubstr("negative change means faster"));
  Document document = sample_document();
  document.analysis.spec.unit = stats::Unit::bytes;
  EXPECT_THAT(words_of(text(document, full)), HasSubstr("negative change means lower"));
  EXPECT_THAT(text(document, full), HasSubstr("MiB"));
}

TEST(Text, FitsTheTerminalAndHasNoEscapesUnlessAskedFor) {
  const std::string plain = text(sample_document());
  for (const std::string& line : lines_of(plain)) EXPECT_LE(display_width(line), 80U) << line;
  EXPECT_LE(lines_of(plain).size(), 25U) << plain;
  for (const std::string& line : lines_of(text(sample_document(), full)))
    EXPECT_LE(display_width(line), 110U) << line;
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  EXPECT_THAT(plain, EndsWith("\n"));
  EXPECT_THAT(text(sample_document(), {.colour = true}), HasSubstr("\x1b[32mfaster\x1b[0m"));
}

TEST(Text, ColourChangesNothingElse) {
  std::string coloured = text(sample_document(), {.colour = true, .full = true});
  for (std::size_t at = 0; (at = coloured.find('\x1b')) != std::string::npos;)
    coloured.erase(at, coloured.find('m', at) + 1 - at);
  EXPECT_EQ(coloured, text(sample_document(), full));
}

TEST(Text, SaysHowQuietTheMachineWas) {
  const std::string report = text(sample_document(), full);
  EXPECT_THAT(
      words_of(report),
      HasSubstr("Quiet fair for measurements: smt (on); changed for the trials: governor "
                "(2 files), swappiness; not made quiet: ksm: the kernel does not accept 0"));
  Document waited = sample_document();
  waited.quietness.waits = 3;
  waited.quietness.waits_in_vain = 1;
  waited.quietness.waited_ns = 61'500'000'000;
  EXPECT_THAT(
      words_of(text(waited, full)),
      HasSubstr(
          "waited 3 times for a quiet machine, in total for 1 min 2 s; unsuccessful waits: 1"));
  Document unknown = sample_document();
  unknown.quietness = {.asked = "off"};
  EXPECT_THAT(text(unknown, full), Not(HasSubstr("Quiet")));
}

TEST(Text, AnExperimentWithoutResultsSaysWhy) {
  Document document;
  document.experiment = "empty";
  document.state = "failed";
  document.reason = "no build succeeded";
  document.analysis = stats::analyse({}, {});
  const std::string report = text(document);
  EXPECT_THAT(report, HasSubstr("Reason    no build succeeded"));
  EXPECT_THAT(report, HasSubstr("cannot tell"));
  EXPECT_THAT(report, HasSubstr("No trial can be analyzed."));
  EXPECT_THAT(report, Not(HasSubstr("Analysis of variance")));
}

TEST(Text, ControlCharactersNeverReachTheTerminal) {
  Document document = sample_document();
  document.experiment = "a\x1b[2Jb";
  document.failures = {"one\ntwo\x07"};
  document.causes = {{.why = "a\x1b[1m\n", .trials = 2, .cells = {"c\x07"}}};
  document.analysis.means[0].levels[0] = "O\x1b[31m";
  const std::string report = text(document) + text(document, full);
  EXPECT_THAT(report, Not(HasSubstr("\x1b")));
  EXPECT_THAT(report, Not(HasSubstr("\x07")));
}

TEST(Text, VarianceComponentsAreShownForNestedDesigns) {
  Document document;
  stats::Spec spec;
  spec.design = stats::Design::nested;
  spec.treatments = {"opt"};
  spec.seed = "seed";
  document.analysis = stats::analyse(stats::oracle::seeds(3, 2, 6, 3), spec);
  EXPECT_THAT(brief(document), HasSubstr("where the variance comes from"));
  const std::string report = text(document, full);
  EXPECT_THAT(report, HasSubstr("sd between seeds"));
  EXPECT_THAT(report, HasSubstr("1.73 %"));  // 100 sqrt(0.000298967)
  EXPECT_THAT(report, HasSubstr("97 %"));
}

TEST(Text, SamplesSayWhetherMoreOfThemWouldHelp) {
  Document document = sample_document();
  EXPECT_THAT(text(document, full), Not(HasSubstr("Samples within trials")));
  document.samples = {{.subject = "sort/BM_a",
                       .samples = 10,
                       .between = 4e-4,
                       .between_low = 1e-4,
                       .between_high = 9e-4,
                       .within = 1e-4,
                       .share = 0.0244},
                      {.subject = "sort/BM_b", .samples = 1.5}};
  EXPECT_THAT(text(document, full),
              AllOf(HasSubstr("Samples within trials\n"), HasSubstr("sort/BM_a"),
                    HasSubstr("2 % (1 % to 3 %)"), HasSubstr("2 %\n"), HasSubstr("1.5")));
}

}  // namespace
}  // namespace stab::report
