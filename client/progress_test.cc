// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/follow.h"
#include "report/words/grid.h"

namespace stab::client {
namespace {

using protocol::Change;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

Change change(double low, double ratio, double high, const std::string& verdict) {
  return {.benchmark = "sort",
          .baseline = "old",
          .level = "new",
          .ratio = ratio,
          .low = low,
          .high = high,
          .verdict = verdict};
}

std::size_t bar_of(const std::string& line) {
  const auto from = line.find('[');
  return from == std::string::npos ? 0 : line.find(']') - from;
}

TEST(ChangeLines, AComparisonHasItsNumbersItsBarAndItsVerdict) {
  const auto lines = change_lines({change(0.97, 0.98, 0.99, "faster")}, {.width = 80});
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], HasSubstr("%"));
  EXPECT_THAT(lines[1], AllOf(StartsWith("new  -2.0 %"), HasSubstr("-3.0 to -1.0 %"),
                              HasSubstr("o"), EndsWith("  faster")));
  EXPECT_GT(bar_of(lines[1]), 0U);
}

TEST(ChangeLines, ANarrowerIntervalHasAShorterBarUnderTheSameAxis) {
  const auto lines = change_lines(
      {change(0.90, 0.98, 1.06, "unsure"), change(0.97, 0.98, 0.99, "faster")}, {.width = 100});
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_GT(bar_of(lines[1]), 3 * bar_of(lines[2]));
}

TEST(ChangeLines, TheBenchmarkIsNamedWhereThereAreSeveral) {
  Change other = change(0.97, 0.98, 0.99, "faster");
  other.benchmark = "parse";
  const auto lines = change_lines({change(0.97, 0.98, 0.99, "faster"), other}, {.width = 80});
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[1], StartsWith("sort new "));
  EXPECT_THAT(lines[2], StartsWith("parse new "));
}

TEST(ChangeLines, NoLineIsWiderThanTheTerminal) {
  const std::vector<Change> changes = {change(0.9, 0.98, 1.06, "unsure"),
                                       change(0.97, 0.98, 0.99, "faster")};
  for (std::size_t width = 1; width < 130; ++width)
    for (const std::string& line : change_lines(changes, {.width = width}))
      EXPECT_LE(report::display_width(line), width) << line;
  EXPECT_THAT(change_lines(changes, {.width = 30}).back(),
              AllOf(EndsWith("faster"), Not(HasSubstr("["))));
  EXPECT_THAT(change_lines(changes, {.width = 8}).back(), EndsWith("faster"));
}

TEST(ChangeLines, WhatHasNoRoomIsCounted) {
  const std::vector<Change> many(12, change(0.97, 0.98, 0.99, "faster"));
  const auto lines = change_lines(many, {.width = 80, .most = 5});
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_EQ(lines.back(), "and 9 more");
  EXPECT_THAT(change_lines(many, {.width = 80, .most = 0}), IsEmpty());
  EXPECT_THAT(change_lines({}, {}), IsEmpty());
}

TEST(ChangeLines, ColoursAreThereOnlyIfTheyAreWanted) {
  const std::vector<Change> one = {change(0.97, 0.98, 0.99, "faster")};
  EXPECT_THAT(change_lines(one, {.colour = true}).back(), HasSubstr("\x1b["));
  EXPECT_THAT(change_lines(one, {}).back(), Not(HasSubstr("\x1b")));
}

TEST(ChangeLines, AnIntervalThatNobodyCanReadIsNone) {
  for (const auto& [low, high] : {std::pair{1e-6, 7.5e6}, {0.04, 25.76}, {0.0, 2.0}})
    EXPECT_THAT(change_words(change(low, 0.85, high, "unsure")), HasSubstr("no interval yet"));
  EXPECT_THAT(change_words(change(0.1, 0.85, 7, "unsure")), Not(HasSubstr("no interval yet")));
}

TEST(ChangeLines, OneWithoutAnIntervalYetSaysSoAndTheControlItsName) {
  Change first = change(0, 0.98, 0, "unsure");
  first.low = first.high = std::nullopt;
  first.control = true;
  const auto lines = change_lines({first}, {.width = 80});
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("no interval yet"), EndsWith("(control)"),
                              Not(HasSubstr("decided"))));
  EXPECT_THAT(change_words(first), EndsWith(", (control)"));
  for (const auto& [verdict, shown] : {std::pair{"same", "(control)"},
                                       {"faster", "(control: differs)"},
                                       {"slower", "(control: differs)"}}) {
    Change control = change(0.97, 0.98, 0.99, verdict);
    control.control = true;
    EXPECT_THAT(change_words(control), EndsWith(shown));
    EXPECT_THAT(change_lines({control}, {.width = 80}), ::testing::Contains(EndsWith(shown)));
  }
  EXPECT_EQ(change_words(change(0.97, 0.98, 0.99, "faster")),
            "sort new against old: -2.0 % (-3.0 to -1.0 %), faster");
}

// The rule waits for more blocks, and its last look gives the verdict.
TEST(ChangeLines, NoVerdictIsSaidBeforeTheEnd) {
  const Change open = change(1.87, 2.27, 2.74, "unsure");
  const auto lines = change_lines({open}, {.width = 100});
  EXPECT_THAT(lines.back(), EndsWith("  not decided yet"));
  EXPECT_THAT(change_words(open), EndsWith("), not decided yet"));
  EXPECT_THAT(change_words(open, true), EndsWith("), cannot tell"));
}

TEST(ChangeLines, NamesOfOthersDoNotSteerTheTerminal) {
  Change odd = change(0.97, 0.98, 0.99, "faster\x1b[2J");
  odd.level = "new\x1b]0;x\x07";
  for (const std::string& line : change_lines({odd}, {.width = 120}))
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  EXPECT_THAT(change_words(odd), Not(HasSubstr("\x1b")));
}

using protocol::Progress;

constexpr std::size_t wide = 1000;

Progress running() {
  return {.state = "running",
          .total = 240,
          .done = 120,
          .ok = 118,
          .failed = 2,
          .activity = "sort O2, block 3"};
}

TEST(ProgressText, ARunningExperimentShowsItsBarItsCountsAndWhatItDoes) {
  EXPECT_EQ(progress_text(running(), wide),
            "[############------------] 120 of 240 trials, 118 ok, 2 failed | sort O2, block 3");
}

TEST(ProgressText, TheTimeThatIsLeftIsShownOnceItIsKnown) {
  Progress progress = running();
  progress.left_ns = 63'000'000'000;
  EXPECT_THAT(progress_text(progress, wide), HasSubstr("2 failed, 1 min 3 s left | sort"));
  progress.left_ns.reset();
  EXPECT_THAT(progress_text(progress, wide), Not(HasSubstr("left")));
}

TEST(ProgressText, DisturbedTrialsAreNamedOnlyIfThereAreAny) {
  Progress progress = running();
  progress.disturbed = 0;
  EXPECT_THAT(progress_text(progress, wide), Not(HasSubstr("disturbed")));
  progress.disturbed = 3;
  EXPECT_THAT(progress_text(progress, wide), HasSubstr("2 failed, 3 disturbed"));
}

TEST(ProgressText, SkippedTrialsAreNamedOnlyIfThereAreAny) {
  Progress progress = running();
  progress.skipped = 0;
  EXPECT_THAT(progress_text(progress, wide), Not(HasSubstr("skipped")));
  progress.skipped = 7;
  EXPECT_THAT(progress_text(progress, wide), HasSubstr("2 failed, 7 skipped"));
}

TEST(ProgressText, AnExperimentThatMayStopEarlySaysSoAndWhatItsRuleSaw) {
  Progress progress = running();
  progress.left_ns = 63'000'000'000;
  progress.fewest = 160;
  EXPECT_THAT(progress_text(progress, wide), HasSubstr("120 of 160 to 240 trials"));
  EXPECT_THAT(progress_text(progress, wide), HasSubstr(", at most 1 min 3 s left"));
  progress.fewest = 80;
  progress.look = "last look after 40 blocks: the widest interval is +-2 %";
  EXPECT_THAT(progress_text(progress, wide), HasSubstr("120 of at most 240 trials"));
  EXPECT_THAT(progress_text(progress, wide),
              HasSubstr("block 3 | last look after 40 blocks: the widest"));
  progress.fewest = 240;
  EXPECT_THAT(progress_text(progress, wide), HasSubstr("120 of 240 trials"));
}

TEST(ProgressText, TheBarIsEmptyAtTheStartFullAtTheEndAndNeverLonger) {
  const auto bar_at = [](std::uint64_t done, std::uint64_t total) {
    return progress_text({.state = "building", .builds = total, .builds_done = done}, wide)
        .substr(0, 26);
  };
  EXPECT_EQ(bar_at(0, 3), "[------------------------]");
  EXPECT_EQ(bar_at(2, 3), "[################--------]");
  EXPECT_EQ(bar_at(3, 3), "[########################]");
  EXPECT_EQ(bar_at(9, 3), "[########################]");
}

TEST(ProgressText, OneMissingTrialIsNotAFullBar) {
  Progress progress = running();
  progress.total = 1'000'000;
  progress.done = 999'999;
  EXPECT_THAT(progress_text(progress, wide), HasSubstr("#-]"));
}

TEST(ProgressText, BuildsAreCounted) {
  EXPECT_EQ(progress_text({.state = "building", .builds = 0}, wide), "building") << "none to count";
  EXPECT_THAT(progress_text({.state = "building", .builds = 4, .builds_done = 1}, wide),
              HasSubstr("] 1 of 4 builds"));
  EXPECT_THAT(progress_text({.state = "building",
                             .builds = 80,
                             .builds_done = 79,
                             .builds_cached = 78,
                             .left_ns = 2'000'000'000},
                            wide),
              HasSubstr("] 79 of 80 builds, 78 cached, about 2 s left"));
}

TEST(ProgressText, AnotherStateIsShownWithItsReason) {
  EXPECT_EQ(progress_text({.state = "queued"}, wide), "queued");
  EXPECT_EQ(progress_text({.state = "paused", .reason = "the disk\nis full"}, wide),
            "paused: the disk is full");
}

TEST(ProgressText, ItIsNeverWiderThanTheTerminal) {
  for (std::size_t width = 0; width < 100; ++width)
    EXPECT_LE(progress_text(running(), width).size(), width);
  EXPECT_EQ(progress_text(running(), 30), "[######------] 120 of 240");
}

// A terminal of 80 columns shows no half words.
TEST(ProgressText, ALineThatDoesNotFitHasAShorterBarAndEndsAfterAWholePart) {
  Progress progress = running();
  progress.fewest = 160;
  progress.left_ns = 63'000'000'000;
  EXPECT_EQ(progress_text(progress, 81),
            "[######------] 120 of 160 to 240 trials, 118 ok, 2 failed, at most 1 min 3 s left");
  EXPECT_EQ(progress_text(progress, 100),
            "[######------] 120 of 160 to 240 trials, 118 ok, 2 failed, at most 1 min 3 s left | "
            "sort O2, block 3");
  EXPECT_EQ(progress_text(progress, 79),
            "[######------] 120 of 160 to 240 trials, 118 ok, 2 failed");
}

TEST(ProgressText, NothingMovesTheCursor) {
  Progress progress = running();
  progress.activity = "a\x1b[2Jb\r\nc\t";
  EXPECT_THAT(progress_text(progress, wide), testing::EndsWith(" | a [2Jb  c "));
}

TEST(ProgressText, WhatIsMissingCountsAsNothingYet) {
  EXPECT_EQ(progress_text({}, wide), "");
  EXPECT_THAT(progress_text({.state = "running"}, wide), HasSubstr("0 of 0 trials, 0 ok"));
}

}  // namespace
}  // namespace stab::client
