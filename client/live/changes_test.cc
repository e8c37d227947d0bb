// SPDX-License-Identifier: MIT
#include "client/live/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  for (const auto& [low, high] : {std::pair{1e-6, 7.5e6}, {0.0, 2.0}})
    EXPECT_THAT(change_words(change(low, 0.85, high, "unsure")), HasSubstr("no interval yet"));
  EXPECT_THAT(change_words(change(0.1, 0.85, 7, "unsure")), Not(HasSubstr("no interval yet")));
}

TEST(ChangeLines, OneWithoutAnIntervalYetSaysSoAndTheControlItsName) {
  Change first = change(0, 0.98, 0, "unsure");
  first.low = first.high = std::nullopt;
  first.control = true;
  const auto lines = change_lines({first}, {.width = 80});
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("no interval yet"), EndsWith("control: unsure")));
  EXPECT_EQ(change_words(change(0.97, 0.98, 0.99, "faster")),
            "sort new against old: -2.0 % (-3.0 to -1.0 %), faster");
}

TEST(ChangeLines, NamesOfOthersDoNotSteerTheTerminal) {
  Change odd = change(0.97, 0.98, 0.99, "faster\x1b[2J");
  odd.level = "new\x1b]0;x\x07";
  for (const std::string& line : change_lines({odd}, {.width = 120}))
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  EXPECT_THAT(change_words(odd), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace stab::client
