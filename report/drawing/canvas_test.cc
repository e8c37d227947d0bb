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
