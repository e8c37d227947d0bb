// SPDX-License-Identifier: MIT
#include "report/html/markup.h"

#include <gtest/gtest.h>

#include <string>

namespace stab::report::html {
namespace {

TEST(Escaped, WhatHasAMeaningInHtmlIsText) {
  EXPECT_EQ(escaped("<script>alert(\"1\")</script>&'"),
            "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;");
}

TEST(Escaped, LinesAndTabsStay) {
  EXPECT_EQ(escaped("a\n\tb"), "a\n\tb");
}

TEST(Escaped, EndsOfLinesInTwoCharactersBecomeOne) {
  EXPECT_EQ(escaped("a\r\n\r\nb\r"), "a\n\nb?");
  EXPECT_EQ(escaped("\r\r\n"), "?\n");
}

TEST(Escaped, ControlCharactersBecomeQuestionMarks) {
  EXPECT_EQ(escaped(std::string("a\0b\x1b[1m\x7f\r", 9)), "a?b?[1m??");
  EXPECT_EQ(escaped("\xc2\x85"), "??");              // a C1 control
  EXPECT_EQ(escaped("a\xe2\x80\xae\x62"), "a???b");  // turns the text around
  // Marks of direction, and their neighbours.
  EXPECT_EQ(escaped("\u200e\u200f\u061c"), "????????");
  EXPECT_EQ(escaped("\u2010\u061b\u200d"), "\u2010\u061b\u200d");
  EXPECT_EQ(escaped("\xef\xbf\xbf"), "???");  // no character
}

TEST(Escaped, BytesThatAreNoUtf8BecomeQuestionMarks) {
  EXPECT_EQ(escaped("\xff\xc3"), "??");
  EXPECT_EQ(escaped("\xc0\xbc"), "??");            // '<' in two bytes
  EXPECT_EQ(escaped("\xe0\x80\xbc"), "???");       // in three
  EXPECT_EQ(escaped("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "????");  // beyond the last one
}

TEST(Escaped, OtherCharactersStay) {
  const std::string text = "\u00e4\u20ac\U0001f600";
  EXPECT_EQ(escaped(text), text);
}

TEST(Markup, ValuesOfAttributesAreEscaped) {
  Markup markup;
  markup.leaf("p", "x", {{"class", "\" onclick=\"alert(1)"}});
  EXPECT_EQ(markup.str(), "<p class=\"&quot; onclick=&quot;alert(1)\">x</p>\n");
}

TEST(Markup, WhatIsOpenIsNotWhole) {
  Markup markup;
  markup.open("p");
  EXPECT_FALSE(markup.is_whole());
  markup.close();
  EXPECT_TRUE(markup.is_whole());
  EXPECT_EQ(markup.str(), "<p></p>\n");
}

}  // namespace
}  // namespace stab::report::html
