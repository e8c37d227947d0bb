// SPDX-License-Identifier: MIT
#include "report/drawing/canvas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "report/drawing/testing.h"

namespace stab::report::html {
namespace {

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

}  // namespace
}  // namespace stab::report::html
