// SPDX-License-Identifier: MIT
#include "toml/depth.h"

#include <gtest/gtest.h>

#include <string>

namespace stab::toml {
namespace {

TEST(Depth, AcceptsWhatStaysBelowTheLimit) {
  EXPECT_EQ(too_deep("a.b.c = [[1], {x = 2}]\n[d.e.f]\n[[g]]\n", 2), std::nullopt);
  EXPECT_EQ(too_deep("", 2), std::nullopt);
}

TEST(Depth, FindsNestedBrackets) {
  EXPECT_EQ(too_deep("a = [[[1]]]", 2), 6U);
  EXPECT_EQ(too_deep("a = {b = {c = {}}}", 2), 14U);
}

TEST(Depth, FindsLongDottedKeys) {
  EXPECT_EQ(too_deep("a.b.c.d = 1", 2), 5U);
  EXPECT_EQ(too_deep("[a.\"b\".c . d]", 2), 9U);
}

TEST(Depth, CountsEachKeyByItself) {
  EXPECT_EQ(too_deep("a.b.c = 1.5\nd.e.f = {g.h.i = 1, j.k.l = 2}\n", 2), std::nullopt);
}

TEST(Depth, LooksIntoNoStringAndNoComment) {
  for (const std::string text :
       {"a = \"[[[....\"", "a = '[[[....'", "a = \"\\\"[[[\"", "# [[[....\na = 1",
        "a = \"\"\"[[[\n....\"\"\"", "a = '''[[[\n....'''", "a = \"\"\"x\\\"\"\"[[[\"\"\"\nb = 1",
        "a = '''two''[[['''''\nb = 1"})
    EXPECT_EQ(too_deep(text, 2), std::nullopt) << text;
}

TEST(Depth, GoesOnBehindStrings) {
  for (const std::string text :
       {"a = \"\"", "a = ''", "a = \"\"\"x\"\"\"\"\"", "a = '''x'''", "a = '\\'"})
    EXPECT_EQ(too_deep(text + "\nb = [[[", 2), text.size() + 7) << text;
}

TEST(Depth, AnUnclosedStringEndsWithItsLine) {
  EXPECT_EQ(too_deep("a = \"x\nb = [[[", 2), 13U);
  EXPECT_EQ(too_deep("a = \"\"\"x\nb = [[[", 2), std::nullopt);
  EXPECT_EQ(too_deep("a = \"\\", 2), std::nullopt);
}

}  // namespace
}  // namespace stab::toml
