// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "design/trial_list.h"
#include "plan/texts.h"

namespace stab::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Substitute, ReplacesNamesInOnePass) {
  EXPECT_EQ(substitute("${A}-${B}${A}", {{"A", "1"}, {"B", "${A}"}}), "1-${A}1");
  EXPECT_EQ(substitute("", {{"A", "1"}}), "");
}

TEST(Substitute, LeavesUnknownNames) {
  EXPECT_EQ(substitute("${OUT} ${A}", {{"A", "x"}}), "${OUT} x");
}

TEST(Substitute, TwoDollarsAreOne) {
  EXPECT_EQ(substitute("$${A} $$ $$$$ $$${A}", {{"A", "x"}}), "${A} $ $$ $x");
}

TEST(Substitute, LeavesTheShellItsOwn) {
  const char* const text = "$A ${A:-x} ${1} ${} ${A ${ $ ${a b}";
  EXPECT_EQ(substitute(text, {{"A", "x"}}), text);
}

TEST(Substitute, FillKeepsTheEscapeForALastSubstitution) {
  const std::string half = fill("${A} $${A} ${OUT}", {{"A", "${SRC}"}});
  EXPECT_EQ(half, "${SRC} $${A} ${OUT}");
  EXPECT_EQ(substitute(half, {{"SRC", "/s"}, {"OUT", "/o"}}), "/s ${A} /o");
}

TEST(NamesIn, FindsEachInOrder) {
  EXPECT_THAT(names_in("${B} $${X} ${A1_}${B}"), ElementsAre("B", "A1_", "B"));
  EXPECT_THAT(names_in("$B ${1} ${B:-x} ${"), IsEmpty());
}

}  // namespace
}  // namespace stab::plan
