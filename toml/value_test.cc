// SPDX-License-Identifier: MIT
#include "toml/value.h"

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

using namespace std::string_literals;

const Pairs& pairs(const Value& value) {
  return std::get<Pairs>(value.data);
}

std::string keys(const Value& value) {
  std::string joined;
  for (const Pair& pair : pairs(value)) joined += pair.key + " ";
  return joined;
}

SyntaxError error_of(std::string_view text) {
  const auto tree = parse_toml(text);
  return tree ? SyntaxError{} : tree.error();
}

TEST(Document, KeepsKeysInTheOrderOfTheText) {
  const auto tree = parse_toml("z = 1\na = {y = 1, b = 2}\n[m.q]\n[m.c]\n");
  ASSERT_TRUE(tree);
  EXPECT_EQ(keys(*tree), "z a m ");
  EXPECT_EQ(keys(pairs(*tree)[1].value), "y b ");
  EXPECT_EQ(keys(pairs(*tree)[2].value), "q c ");
}

TEST(Document, KnowsWhereKeysAndValuesAre) {
  const auto tree = parse_toml("[a]\n  b.c = [1,\n  2]\n");
  ASSERT_TRUE(tree);
  const Pair& a = pairs(*tree)[0];
  const Pair& b = pairs(a.value)[0];
  const Pair& c = pairs(b.value)[0];
  EXPECT_EQ(a.at, (Position{1, 2}));
  EXPECT_EQ(b.at, (Position{2, 3}));
  EXPECT_EQ(c.at, (Position{2, 5}));
  EXPECT_EQ(c.value.at, (Position{2, 9}));
  EXPECT_EQ(std::get<Items>(c.value.data)[1].at, (Position{3, 3}));
}

TEST(Document, KnowsEveryTypeOfValue) {
  const auto tree =
      parse_toml("a = true\nb = -7\nc = 0.5\nd = 'x'\ne = []\nf = {}\ng = 2001-02-03\n");
  ASSERT_TRUE(tree);
  const Pairs& all = pairs(*tree);
  EXPECT_EQ(std::get<bool>(all[0].value.data), true);
  EXPECT_EQ(std::get<std::int64_t>(all[1].value.data), -7);
  EXPECT_EQ(std::get<double>(all[2].value.data), 0.5);
  EXPECT_EQ(std::get<std::string>(all[3].value.data), "x");
  EXPECT_TRUE(std::get<Items>(all[4].value.data).empty());
  EXPECT_TRUE(pairs(all[5].value).empty());
  EXPECT_TRUE(std::holds_alternative<DateOrTime>(all[6].value.data));
}

TEST(Document, ASyntaxErrorHasItsPlace) {
  const SyntaxError error = error_of("a = 1\nb = 5x\n");
  EXPECT_EQ(error.at, (Position{2, 6}));
  EXPECT_EQ(error.message,
            "this is not valid TOML: Error while parsing decimal integer: expected digit, saw 'x'");
}

TEST(Document, RefusesBinaryFiles) {
  const SyntaxError error = error_of(
      "a = 1\n\x7f"
      "ELF\0\0"s);
  EXPECT_EQ(error.at, (Position{2, 5}));
  EXPECT_EQ(error.message,
            "this file contains a NUL byte, so it is a binary file and not TOML in UTF-8");
  EXPECT_EQ(error_of("a = '\xff'").message,
            "this is not valid TOML: Encountered invalid utf-8 sequence");
}

// toml++ 3.3 runs into undefined behaviour here; the sanitizers see it.
TEST(Document, TakesLettersOfAllAlphabets) {
  const auto tree = parse_toml("a = \"\"\"x \\\n  \xc3\xa9\xe3\x81\x82\"\"\" # \xef\xba\xbf\n");
  ASSERT_TRUE(tree);
  EXPECT_EQ(std::get<std::string>(pairs(*tree)[0].value.data), "x \xc3\xa9\xe3\x81\x82");
  for (const char* key : {"\xc3\xa9", "\xe3\x81\x82", "\xef\xba\xbf", "\xef\xac\x82"})
    EXPECT_NE(error_of(std::string(key) + " = 1\n").message, "") << key;
}

// toml++ 3.3 assumes something wrong here; the sanitizers of clang 22 see it.
TEST(Document, RefusesKeysThatBeginWithABracket) {
  for (const char* text : {"[{onY", "{ = 1\n", "a = { { = 1 }\n", "a.{ = 1\n", "[[{"})
    EXPECT_NE(error_of(text).message, "") << text;
}

TEST(Document, RefusesDeepNestingBeforeItOverflowsTheStack) {
  std::string dotted = "a";
  for (int i = 0; i < 400'000; ++i) dotted += ".a";
  for (const std::string& text :
       {dotted + " = 1", "[" + dotted + "]", "a = " + std::string(500'000, '['),
        "a = " + std::string(500'000, '{')})
    EXPECT_EQ(error_of(text).message,
              "the text is nested deeper than 16 levels: flatten its tables and arrays");
}

}  // namespace
}  // namespace stab::toml
