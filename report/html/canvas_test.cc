// SPDX-License-Identifier: MIT
#include "report/html/canvas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/random.h"
#include "report/html/parsing_testing.h"

namespace stab::report::html {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Range between(double low, double high) {
  return {.low = low, .high = high, .empty = false};
}

TEST(Ticks, AreRoundNumbersWithinTheRange) {
  EXPECT_THAT(ticks(between(-3, 11), 7).at, ElementsAre(0, 5, 10));
  EXPECT_THAT(ticks(between(0, 10), 7).at, ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(ticks(between(990, 1013), 7).at, ElementsAre(990, 995, 1000, 1005, 1010));
}

TEST(Ticks, ZeroIsExact) {
  const Ticks found = ticks(between(-0.3, 0.3), 7);
  EXPECT_THAT(found.at, ::testing::Contains(0.0));
  EXPECT_EQ(found.label(0.0), "0.0");
  EXPECT_EQ(found.label(-0.0), "0.0");
}

TEST(Ticks, LabelsTellThemApart) {
  const Ticks found = ticks(between(1.2001, 1.2009), 7);
  ASSERT_GE(found.at.size(), 2U);
  for (std::size_t i = 1; i < found.at.size(); ++i)
    EXPECT_NE(found.label(found.at[i - 1]), found.label(found.at[i]));
}

TEST(Ticks, LabelsOfLargeNumbersTellThemApart) {
  const Ticks found = ticks(between(1.2345e10, 1.2346e10), 7);
  ASSERT_EQ(found.at.size(), 6U);
  EXPECT_EQ(found.label(found.at.front()), "1.23450");
  EXPECT_EQ(found.label(found.at.back()), "1.23460");
  EXPECT_EQ(found.exponent, "e+10");
  Random random(6);
  for (int i = 0; i < 20'000; ++i) {
    const double low = std::pow(10, static_cast<double>(random.below(120)) / 10);
    const double wide = low * std::pow(10, -static_cast<double>(random.below(60)) / 10);
    const Ticks some = ticks(between(low, low + wide), 7);
    for (std::size_t j = 1; j < some.at.size(); ++j) {
      ASSERT_NE(some.label(some.at[j - 1]), some.label(some.at[j])) << low << " " << wide;
      ASSERT_LE(some.label(some.at[j]).size(), 9U) << low << " " << wide;
    }
  }
}

TEST(Ticks, ThereAreTwoOrMoreAndNotTooMany) {
  Random random(5);
  for (int i = 0; i < 20'000; ++i) {
    const double low = (static_cast<double>(random.below(2'000'001)) - 1e6) / 1e3;
    const double wide = std::pow(10, static_cast<double>(random.below(120)) / 10 - 4) + 1e-6;
    const Range range = between(low, low + wide);
    const Ticks found = ticks(range, 7);
    ASSERT_GE(found.at.size(), 2U) << low << " " << wide;
    ASSERT_LE(found.at.size(), 7U) << low << " " << wide;
    for (const double tick : found.at) {
      ASSERT_GE(tick, range.low - 1e-6 * wide);
      ASSERT_LE(tick, range.high + 1e-6 * wide);
    }
  }
}

TEST(Ticks, ARangeWithoutWidthHasNone) {
  EXPECT_THAT(ticks(Range(), 7).at, IsEmpty());
  EXPECT_THAT(ticks(between(5, 5), 7).at, IsEmpty());
  EXPECT_THAT(ticks(between(1e18, 1e18 + 1), 7).at, IsEmpty());
}

TEST(Range, WhatIsNotFiniteChangesNothing) {
  Range range;
  range.include(std::numeric_limits<double>::quiet_NaN());
  range.include(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(range.empty);
  range.include(3);
  range.include(-1);
  EXPECT_THAT(range.low, DoubleEq(-1));
  EXPECT_THAT(range.high, DoubleEq(3));
}

TEST(Range, ASingleNumberHasSomeAroundIt) {
  Range range;
  range.include(4);
  EXPECT_LT(range.padded().low, 4);
  EXPECT_GT(range.padded().high, 4);
  EXPECT_GE(ticks(range.padded(), 7).at.size(), 2U);
  range = {};
  range.include(0);
  EXPECT_LT(range.padded().low, range.padded().high);
}

TEST(Axis, EndsLieAtItsEnds) {
  const Axis axis(between(-2, 8), 300, 100);
  EXPECT_THAT(axis.place(-2), DoubleEq(300));
  EXPECT_THAT(axis.place(8), DoubleEq(100));
  EXPECT_THAT(axis.place(3), DoubleEq(200));
}

TEST(Axis, EqualRatiosAreEquallyFarApart) {
  const Axis axis(between(-75, 300), 300, 100, Spacing::ratios);
  EXPECT_DOUBLE_EQ(axis.place(-75), 300);
  EXPECT_DOUBLE_EQ(axis.place(-50), 250);
  EXPECT_DOUBLE_EQ(axis.place(0), 200);
  EXPECT_DOUBLE_EQ(axis.place(100), 150);
  EXPECT_DOUBLE_EQ(axis.place(300), 100);
}

using ::testing::HasSubstr;

TEST(Shortened, KeepsBothEndsOfALongName) {
  EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shortened("abcdefghij", 9), "abcd\u2026ghij");
  EXPECT_EQ(shortened("abcdefghij", 4), "ab\u2026j");
}

TEST(Shortened, CountsCharactersAndCutsNone) {
  EXPECT_EQ(shortened("\u00e4\u00f6\u00fc", 3), "\u00e4\u00f6\u00fc");
  EXPECT_EQ(shortened("\u00e4\u00f6\u00fc\u00df\u00e9", 3), "\u00e4\u2026\u00e9");
}

TEST(Canvas, TheWholeNameIsTheTipOfAShortenedOne) {
  Canvas canvas(100, "a picture");
  canvas.name(0, 10, "abcdefghij", 5);
  const Parsed parsed = parse(canvas.finish().str());
  ASSERT_EQ(parsed.problem, "");
  EXPECT_EQ(parsed.elements[1].name, "text");
  EXPECT_EQ(parsed.elements[2].name, "title");
  EXPECT_EQ(parsed.elements[2].text, "abcdefghij");
}

TEST(Wrapped, BreaksBetweenWordsAndCutsThemOnlyWhereThereIsOne) {
  EXPECT_EQ(wrapped("a bc", 4, 2), std::vector<std::string>{"a bc"});
  EXPECT_EQ(wrapped("sort opt=O2 against opt=O1", 14, 14),
            (std::vector<std::string>{"sort opt=O2", "against opt=O1"}));
  EXPECT_EQ(wrapped("one two three four five", 9, 9),
            (std::vector<std::string>{"one two", "three \u2026"}));
  EXPECT_EQ(wrapped("one two three", 4, 9), (std::vector<std::string>{"one", "two three"}));
  EXPECT_EQ(wrapped("abcdefghij", 5, 9), std::vector<std::string>{"ab\u2026ij"});
  EXPECT_EQ(wrapped("abcdefghij a=x", 5, 9), (std::vector<std::string>{"ab\u2026ij", "a=x"}));
  EXPECT_EQ(wrapped("\u00e4\u00e4 \u00f6\u00f6", 3, 2),
            (std::vector<std::string>{"\u00e4\u00e4", "\u00f6\u00f6"}));
}

// A line of the axis behind words makes them hard to read.
TEST(Canvas, NoLineCrossesALabel) {
  Canvas canvas(100, "a picture");
  const std::string name = "sort opt=O2 of the whole suite against opt=O1 of the same";
  canvas.label(6, name, "faster");
  const Parsed parsed = parse(canvas.finish().str());
  ASSERT_EQ(parsed.problem, "");
  EXPECT_EQ(parsed.elements[1].name, "rect");
  EXPECT_EQ(parsed.elements[1].attributes.at("class"), "back");
  EXPECT_EQ(std::stod(parsed.elements[1].attributes.at("height")), 34);
  EXPECT_EQ(parsed.elements[2].text, "sort opt=O2 of the whole suite against");
  EXPECT_EQ(parsed.elements[3].text, "opt=O1 of the same");
  EXPECT_EQ(label_height(name, "faster"), 32);
}

// Otherwise the name runs into those words on a phone.
TEST(Canvas, TheWordsAtTheEndOfALabelTakeTheirPlaceFromItsName) {
  const auto first = [](const std::string& name, const std::string& at_end) {
    Canvas canvas(100, "a picture");
    canvas.label(6, name, at_end);
    return parse(canvas.finish().str()).elements.at(2).text;
  };
  const std::string name = std::string(20, 'a') + " " + std::string(22, 'b');
  EXPECT_EQ(first(name, ""), name);
  EXPECT_EQ(label_height(name), 16);
  EXPECT_EQ(first(name, "same"), name);
  EXPECT_EQ(first(name, "slower"), std::string(20, 'a'));
  EXPECT_EQ(label_height(name, "slower"), 32);
  EXPECT_EQ(first(name, std::string(300, '9')), std::string(20, 'a'));
}

TEST(Canvas, ZeroIsMarkedAmongTheTicks) {
  Canvas canvas(100, "a picture");
  canvas.horizontal(Axis({.low = -1, .high = 1, .empty = false}, 0, 480), 0, 80, "change, %");
  const std::string text = canvas.finish().str();
  EXPECT_THAT(text,
              HasSubstr("x1=\"240.00\" y1=\"0.00\" x2=\"240.00\" y2=\"80.00\" class=\"zero\""));
  EXPECT_THAT(text, HasSubstr(">change, %</text>"));
}

TEST(Canvas, TheTitleNamesThePowerOfTenOfLargeTicks) {
  Canvas canvas(100, "a picture");
  const Axis axis(between(1.2345e10, 1.2346e10), 0, 480);
  canvas.horizontal(axis, 0, 80, "instructions");
  canvas.vertical(axis, 0, 80, "cycles");
  const std::string text = canvas.finish().str();
  EXPECT_THAT(text, HasSubstr(">1.23450</text>"));
  EXPECT_THAT(text, HasSubstr(">instructions, x 1e+10</text>"));
  EXPECT_THAT(text, HasSubstr(">cycles, x 1e+10</text>"));
}

}  // namespace
}  // namespace stab::report::html
