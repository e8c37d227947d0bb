// SPDX-License-Identifier: MIT
// The short report: 25 lines of 80 columns.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_document.h"
#include "report/sections/sections.h"
#include "report/text.h"
#include "report/text_testing.h"
#include "stats/analyse/analyse.h"

namespace stab::report {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Screen, AShortOneIsTheAnswerTrustOneTableAndWhatFullAdds) {
  const std::string report = text(sample_document());
  const auto place = [&](const char* part) {
    const std::size_t at = report.find(part);
    EXPECT_NE(at, std::string::npos) << part << "\n" << report;
    return at;
  };
  EXPECT_LT(place("Are these programs faster"),
            place("Answer: on benchmarks like these 6, opt=O2"));
  EXPECT_LT(place("Answer: "), place("\n  Trials    60 ok, 2 failed of 62 planned"));
  EXPECT_LT(place("\n  Trials "), place("\n  benchmark   comparison"));
  EXPECT_LT(place("\n  like these  opt: O1 -> O2"), place("\n  these 6 "));
  EXPECT_LT(place("\n  these 6 "), place("\nWith --full: "));
  EXPECT_EQ(report.find("Answer: "), report.rfind("Answer: "));
  EXPECT_THAT(report, Not(HasSubstr("Error(benchmark/opt)")));
  EXPECT_THAT(report, Not(HasSubstr("geometric")));
}

TEST(Screen, OnOneTreatmentThereIsARowALevelWithItsMean) {
  const auto y = [](auto b, auto l) { return 1e6 * (100 + 50.0 * l + noise(b, l)); };
  Document document = of_blocks(10, 3, y, {});
  const std::string report = text(document);
  EXPECT_THAT(line_with(report, "  opt "), HasSubstr("wall time"));
  EXPECT_THAT(line_with(report, "  L0 "), EndsWith(" ms"));
  EXPECT_THAT(line_with(report, "  L1 "), ContainsRegex("ms +\\+[0-9.]+ % .*slower"));
}

// The answer is cut so that the lines about the machine stay, and no line is too wide.
TEST(Screen, ALongAnswerLeavesRoomForNeededLines) {
  Screen screen{.title = "title", .question = "Is it? " + std::string(100, 'x')};
  for (const char* label : {"Trials", "Random", "Quiet"})
    screen.trust.push_back({label, "what is known " + std::string(60, 'x'), true});
  for (int i = 0; i < 80; ++i) screen.next += "yyyy ";
  screen.full = "all tables";
  const auto expect_narrow = [&](std::size_t width) {
    const std::string report = shown(screen, {.width = width});
    EXPECT_LE(lines_of(report).size(), 25U) << report;
    for (const std::string& line : lines_of(report)) EXPECT_LE(line.size(), width) << report;
    return report;
  };
  for (std::size_t length = 1; length <= 12; ++length) {
    std::string sentence;
    while (sentence.size() < 600) sentence += std::string(length, 'a') + " b c ";
    screen.answer = {sentence};
    EXPECT_THAT(expect_narrow(80), AllOf(HasSubstr("\n  Quiet "), HasSubstr(" ...\n")));
  }
  screen.answer = {std::string(600, 'a')};
  EXPECT_THAT(expect_narrow(80), AllOf(HasSubstr("\n  Quiet "), HasSubstr(" ...\n")));
}

TEST(Screen, ABusyMachineIsSaidBeforeWhatIsRandom) {
  Document document = sample_document();
  document.load = {.others = 2};
  const Screen screen = screen_of(document);
  const auto load = std::ranges::find(screen.trust, "Load", &Screen::Known::label);
  ASSERT_NE(load, screen.trust.end());
  EXPECT_LT(load, std::ranges::find(screen.trust, "Random", &Screen::Known::label));
}

TEST(Screen, ManyRowsAndSentencesLeaveRoomForEachOther) {
  Document document = sample_document();
  for (int i = 0; i < 40; ++i) {
    document.analysis.effects.push_back(document.analysis.effects.front());
    document.analysis.effects.back().level = fmt::format("level-{}-with-a-long-name", i);
    document.analysis.notes.push_back(
        fmt::format("note {} with so many words that it takes more "
                    "than one line of the screen to be read",
                    i));
  }
  document.causes = {
      {.why = "the build failed: " + std::string(300, 'x'), .trials = 2, .cells = {"sort"}}};
  for (const std::size_t width : {60UL, 80UL, 200UL}) {
    const std::string report = text(document, {.width = width});
    EXPECT_LE(lines_of(report).size(), 25U) << report;
    EXPECT_THAT(report, HasSubstr("like these  opt"));
    EXPECT_THAT(report, HasSubstr("\n  Trials "));
    EXPECT_THAT(words_of(report),
                ContainsRegex("With --full: .*[0-9]+ more rows, [0-9]+ more notes, ([0-9]+ more "
                              "facts?, )?all tables"));
  }
}

// Facts without room don't count as notes.
TEST(Screen, PromisesAsManyNotesAsTheFullReportHasMore) {
  Document document = sample_document();
  document.load = {.others = 2};
  document.analysis.assumptions.clear();
  document.analysis.notes.clear();
  for (int i = 0; i < 12; ++i)
    document.analysis.notes.push_back(fmt::format("number {} is a note of a few words", i));
  for (const std::size_t words : {0UL, 10UL, 40UL, 80UL, 200UL}) {
    document.reason.clear();
    for (std::size_t i = 0; i < words; ++i) document.reason += "because ";
    const std::string report = text(document);
    const auto is_note = [](const std::string& line) { return line.starts_with("  Note "); };
    const auto shown = std::ranges::count_if(lines_of(report), is_note);
    ASSERT_LT(shown, 12) << report;
    EXPECT_THAT(words_of(report), ContainsRegex(fmt::format("[: ]{} more notes?, ", 12 - shown)));
    std::size_t facts = words > 0 && !report.contains("\n  Reason ") ? 1 : 0;
    for (const char* label : {"\n  Load ", "\n  Quiet "}) facts += report.contains(label) ? 0 : 1;
    EXPECT_EQ(words_of(report).contains(fmt::format(" {} more fact", facts)), facts > 0) << report;
  }
}

TEST(Screen, SaysWhatWasRandomAndWhatWasNotInTwoLines) {
  const auto random_of = [](const Document& document) {
    const auto lines = lines_of(text(document));
    const auto begins = [](const std::string& line) { return line.starts_with("  Random "); };
    std::string found;
    for (auto line = std::ranges::find_if(lines, begins); line != lines.end(); ++line) {
      if (!found.empty() && !line->starts_with("   ")) break;
      found += *line + "\n";
    }
    EXPECT_LE(std::ranges::count(found, '\n'), 2) << found;
    EXPECT_LE(lines.size(), 25U);
    return words_of(found);
  };
  Document document = sample_document();
  EXPECT_EQ(random_of(document), "") << "nothing is known";
  document.drawn = {{.what = "environment"},
                    {.what = "addresses"},
                    {.what = "functions", .is_random = false, .why = "szc did not build it"},
                    {.what = "stack frames", .is_random = false, .why = "szc did not build it"},
                    {.what = "heap blocks", .is_random = false, .why = "heap = false"}};
  EXPECT_EQ(random_of(document),
            "Random environment, addresses; not: functions, stack frames (szc did not build it), "
            "heap blocks (heap = false)");
  document.drawn[4].why = "random heap positions " + std::string(40, 'x') + std::string(400, ' ');
  EXPECT_THAT(random_of(document),
              AllOf(HasSubstr("stack frames (szc did not build it), heap blocks (random heap"),
                    EndsWith("...)")));
  document.drawn[4] = {.what = "heap blocks",
                       .cost =
                           "costs +0.4 % of CPU time; 95 % interval -0.2 to +1.1 %, 12 pairs of "
                           "runs"};
  EXPECT_THAT(random_of(document),
              AllOf(HasSubstr("heap blocks (costs +0.4 % of CPU"), HasSubstr("not: functions")));
  for (Drawn& each : document.drawn) {
    each.is_random = false;
    each.why = each.what + " is not random for a reason that nobody can say in a few words";
  }
  EXPECT_THAT(random_of(document), StartsWith("Random nothing; not: environment"));
  document.trials.ok = 0;
  EXPECT_EQ(random_of(document), "") << "no trial has drawn anything";
}

TEST(Screen, AWarningAboutLayoutsHasItsLinesBeforeLongerFacts) {
  Document document = sample_document();
  document.layouts = {.randomized = 60, .median_epochs = 2, .few_epochs = 60};
  for (int i = 0; i < 120; ++i) {
    EXPECT_THAT(
        words_of(text(document)),
        HasSubstr("Layout 60 of 60 trials randomized; median of 2 layouts per run; warning: "
                  "60 had fewer than 30 layouts"))
        << i;
    document.reason += "because ";
  }
}

TEST(Screen, OfARunsFolderSaysHowToSeeTheRestWithoutMeasuringAgain) {
  Document document = sample_document();
  EXPECT_THAT(words_of(text(document)), EndsWith("all tables."));
  document.folder = "/tmp/my run";
  EXPECT_THAT(
      text(document),
      EndsWith(" all tables:\n             stabctl report --full 3 --folder '/tmp/my run'\n"));
  document.folder = "/var/lib/stabd/runs/" + std::string(60, 'x');
  EXPECT_THAT(text(document),
              EndsWith(" all tables:\n             stabctl report --full 3 --folder FOLDER\n"));
  for (int i = 0; i < 12; ++i) document.analysis.notes.emplace_back("a note of a few words");
  EXPECT_LE(lines_of(text(document)).size(), 25U);
}

TEST(Screen, NumbersThatAreRelativeSayToWhat) {
  const auto y = [](auto b, auto l) { return 1 + 0.5 * l + 0.01 * noise(b, l); };
  stats::Spec spec{.response = "relative_cpu"};
  spec.unit = stats::Unit::number;
  spec.ratio_of_times = true;
  Document document = of_blocks(10, 3, y, spec);
  document.beside = "old";
  document.compiler = "szc with clang 19";
  const std::string report = text(document);
  EXPECT_THAT(line_with(report, "  opt "), HasSubstr("  relative CPU  "));
  EXPECT_EQ(line_with(report, "  Relative "),
            "  Relative  to the CPU time of old, which ran beside each trial");
  EXPECT_EQ(line_with(report, "  Compiler "), "  Compiler  szc with clang 19");
  EXPECT_THAT(text(document, full), HasSubstr("\n  Relative  to the CPU time of old, which"));
  EXPECT_THAT(text(document, full), HasSubstr("\n  Compiler  szc with clang 19\n"));
}

TEST(Screen, ATextOfTheMachineDoesNotMakeItQuiet) {
  Document document = sample_document();
  const auto quiet = [&](const std::string& grade, const std::string& found) {
    document.quietness.grade = grade;
    document.quietness.found = found;
    return line_with(text(document), "  Quiet ");
  };
  EXPECT_EQ(quiet("fair", "good neighbours: smt (on)"), "  Quiet     fair for measurements");
  EXPECT_EQ(quiet("poor", "poor for measurements: load (9)"), "  Quiet     poor for measurements");
  EXPECT_EQ(quiet("", "not known: the file is damaged"), "  Quiet     not known");
  EXPECT_EQ(quiet("good", "good for measurements"), "");
  EXPECT_EQ(quiet("", ""), "") << "it has not started";
}

TEST(Screen, AMachineThatIsNotGoodHasItsLineWhateverElseIsSaid) {
  Document document = sample_document();
  document.quietness.grade = "poor";
  document.drawn = {{.what = "heap blocks", .is_random = false, .why = std::string(200, 'x')}};
  document.layouts = {.randomized = 60, .few_epochs = 60};
  document.beside = "old";
  document.compiler = "szc with clang 19";
  document.load = {.others = 2};
  document.reason = "because " + std::string(300, 'x');
  for (int i = 0; i < 9; ++i) {
    EXPECT_THAT(text(document), HasSubstr("\n  Quiet     poor for measurements\n")) << i;
    EXPECT_LE(lines_of(text(document)).size(), 25U);
    document.causes.push_back({.why = "the build failed: " + std::string(100, 'x'), .trials = 2});
    document.trials.failed += 2;
    document.analysis.effects.push_back(document.analysis.effects.front());
  }
}

// Once, however many cells it hits, and first where it is why there is no verdict.
TEST(Screen, WhatFailedStandsInTheAnswerWithItsCauseOnce) {
  Document document = sample_document();
  document.trials = {.planned = 64, .ok = 32, .failed = 0, .skipped = 32};
  document.causes = {{.why = "the build failed: error: no such flag", .trials = 32}};
  for (int i = 0; i < 16; ++i) document.causes[0].cells.insert(fmt::format("cell {:02}", i));
  const std::string failed =
      "32 of 64 trials have no result: the build failed: error: no such flag (cell 00, cell 01 and "
      "14 more cells)";
  EXPECT_THAT(answer_of(document), EndsWith("\n" + failed)) << "there is a verdict";
  Document longer = document;
  for (int i = 0; i < 12; ++i) longer.analysis.effects.push_back(longer.analysis.effects.front());
  EXPECT_THAT(words_of(text(longer)), HasSubstr(failed)) << "other sentences go first";
  for (stats::Effect& effect : document.analysis.effects) effect.verdict = stats::Verdict::unsure;
  EXPECT_THAT(answer_of(document), StartsWith(failed + "\n"));
  EXPECT_THAT(words_of(text(document)), HasSubstr("Answer: " + failed));
  EXPECT_THAT(words_of(text(document)), HasSubstr("Next: 'stabctl logs 3' shows the"));
}

TEST(Screen, AnExperimentThatBuildsSaysThatItIsTooEarly) {
  Document document;
  document.state = "building";
  document.trials.planned = 60;
  document.analysis = stats::analyse({}, {});
  EXPECT_THAT(words_of(text(document)),
              HasSubstr("too early to tell: the experiment is building, and none "
                        "of its 60 trials has"));
  EXPECT_THAT(text(document), Not(HasSubstr("nothing to compare")));
  document.trials.ok = 1;
  document.state = "running";
  EXPECT_THAT(words_of(text(document)), HasSubstr("running, and 1 of its 60 trials has ended"));
}

TEST(Screen, TheEndOfStderrStandsBelowTheAnswer) {
  Document document = sample_document();
  document.trials.failed = 2;
  document.causes = {{.why = "ended with exit code 3",
                      .trials = 2,
                      .cells = {"sort"},
                      .said = "third",
                      .last_lines = {"first", "sec\x1b[31mond", "third"}}};
  const std::string report = text(document);
  EXPECT_THAT(words_of(report), HasSubstr("The output of the first failure ended with: first | "
                                          "sec [31mond | third"));
  EXPECT_THAT(report, Not(HasSubstr("\x1b")));
  EXPECT_LE(std::ranges::count(report, '\n'), 25);
  document.causes[0].last_lines.clear();
  EXPECT_THAT(text(document), Not(HasSubstr("printed last")));
}

TEST(Screen, TheControlIsNamedBesideTheVerdicts) {
  const auto y = [](auto b, auto l) { return 1e6 * (100 + 4.0 * (l == 1) + noise(b, l)); };
  stats::Spec spec;
  spec.control = "L2";
  const Document document = of_blocks(10, 3, y, spec);
  ASSERT_TRUE(document.analysis.effects[0].held_back) << *document.analysis.effects[0].p;
  const std::string report = words_of(text(document));
  EXPECT_THAT(report,
              ContainsRegex("the control, a second measurement of opt=L0, may differ from the "
                            "first by [0-9.]+ %: a smaller change cannot be told from noise"));
  EXPECT_THAT(report,
              HasSubstr("Control the first level was measured twice, with a difference of "));
  EXPECT_THAT(line_with(text(document), "  L2 "), EndsWith("  (control)"));
  EXPECT_THAT(line_with(text(document, full), "  opt: L0 -> L2  "), HasSubstr("  (control)"));
}

TEST(Screen, AControlWithoutARatioHasADifference) {
  const auto y = [](auto b, auto l) { return -(100 + 50.0 * (l == 1) + noise(b, l)); };
  stats::Spec spec;
  spec.response = "score";
  spec.unit = stats::Unit::number;
  spec.log_scale = false;
  spec.control = "L2";
  const Document document = of_blocks(10, 3, y, spec);
  ASSERT_FALSE(document.analysis.effects[0].ratio);
  ASSERT_EQ(document.analysis.effects[0].verdict, stats::Verdict::faster);
  EXPECT_THAT(words_of(text(document)),
              HasSubstr("Control the first level was measured twice, with a difference of -3.8 to "
                        "+4.6, so there is no verdict on smaller changes"));
}

TEST(Screen, TheWidestOfTheControlsWithoutARatioIsNamed) {
  Document document = sample_document();
  document.analysis.spec.programs = stats::Programs::these;
  document.analysis.suite = 0;
  document.analysis.spec.control = document.analysis.effects.front().level;
  double difference = 0;
  std::string last;
  for (stats::Effect& each : document.analysis.effects) {
    if (each.scope != stats::Scope::subject) continue;
    each.reach = stats::Reach{.difference = difference += 1e6};
    last = each.subject;
  }
  ASSERT_NE(last, "");
  EXPECT_THAT(words_of(text(document)),
              HasSubstr("Control on " + last + ", the first level was measured twice, with"));
}

TEST(Screen, TheWidestControlIsNamedWithItsBenchmark) {
  Document document = sample_document();
  document.analysis.spec.programs = stats::Programs::these;
  document.analysis.suite = 0;  // then each benchmark decides for itself
  document.analysis.spec.control = document.analysis.effects.front().level;
  double share = 0.01;
  std::string last;
  for (stats::Effect& each : document.analysis.effects) {
    if (each.scope != stats::Scope::subject) continue;
    each.reach = stats::Reach{.share = share += 0.01};
    last = each.subject;
  }
  ASSERT_NE(last, "");
  EXPECT_THAT(words_of(text(document)),
              HasSubstr("Control on " + last + ", the first level was measured twice, with"));
}

TEST(Screen, AWithheldResponseHasNoNumbersUnderAdjustedHeadings) {
  const auto y = [](auto b, auto l) { return 1e6 * (100 + 4.0 * (l == 1) + noise(b, l)); };
  Document document = of_blocks(10, 3, y, {});
  stats::Analysis other = document.analysis;
  other.spec.response = "instructions";
  for (stats::Effect& each : other.effects) stats::withhold(each, "some trials have none");
  document.others = {other};
  const std::string report = text(document);
  EXPECT_THAT(report, HasSubstr("adjusted p"));
  EXPECT_THAT(line_with(report, "  instructions opt: L0 -> L1"), ContainsRegex("%  +-  +-  "));
}

TEST(Screen, AShortOneSaysWhatFollowsFromRejectedAssumptions) {
  using stats::Property;
  Document document = sample_document();
  const std::string ranks = "the signed-rank test is still valid";
  document.analysis.assumptions = {
      {.subject = "sort", .property = Property::normality, .holds = false, .instead = ranks},
      {.subject = "sort", .property = Property::independence},
      {.subject = "lz", .property = Property::normality, .holds = false, .instead = ranks},
      {.property = Property::equal_variances, .holds = false, .instead = "use error = \"own\""},
      {.subject = "lz",
       .property = Property::independence,
       .holds = false,
       .instead = "the changes are still valid",
       .is_allowed_for = true}};
  for (stats::Effect& each : document.analysis.effects) each.alternatives.clear();
  EXPECT_THAT(words_of(text(document)), Not(HasSubstr("--full compares with tests")));
  for (stats::Effect& each : document.analysis.effects)
    if (each.subject == "lz") each.alternatives = {{.method = "signed-rank", .p = 0.5}};
  const std::string report = words_of(text(document));
  EXPECT_THAT(report,
              HasSubstr("Tests Normality is rejected for sort, lz: the signed-rank test is still "
                        "valid. Equality of variances is rejected for benchmarks like these: use "
                        "error = \"own\". --full compares with tests that do not assume "
                        "normality."));
  EXPECT_THAT(report, Not(HasSubstr("Independence")));
  EXPECT_THAT(words_of(text(document, full)),
              HasSubstr("Independence of the trials is rejected for lz: the changes are still"));
  // Nothing follows from these, however much room there is.
  for (auto& a : document.analysis.assumptions) a.is_allowed_for = true;
  EXPECT_THAT(text(document), Not(HasSubstr("\n  Tests ")));
}

TEST(Screen, TheOnlyBenchmarkIsNotNamedWithItsAssumptions) {
  const auto y = [](auto b, auto l) { return 1e6 * (100 + 4.0 * (l == 1) + noise(b, l)); };
  Document document = of_blocks(10, 2, y, {});
  for (stats::CellMean& mean : document.analysis.means) mean.subject = "command";
  document.analysis.assumptions = {{.subject = "command",
                                    .property = stats::Property::normality,
                                    .holds = false,
                                    .instead = "the signed-rank test is still valid"}};
  EXPECT_THAT(words_of(text(document)), HasSubstr("Tests Normality is rejected: the signed-rank"));
}

}  // namespace
}  // namespace stab::report
