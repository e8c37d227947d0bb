// SPDX-License-Identifier: MIT
#include "report/words/grid.h"

#include <gtest/gtest.h>

#include <limits>

namespace stab::report {
namespace {

TEST(Grid, ColumnsAreAlignedAndLinesHaveNoSpacesAtTheEnd) {
  Grid grid;
  grid.column("name", Align::left);
  grid.column("n", Align::right);
  grid.column("word", Align::left);
  grid.row({{"sort"}, {"30"}, {"faster"}});
  grid.row({{"a longer one"}, {"7"}, {""}});
  EXPECT_EQ(grid.render(false),
            "  name           n  word\n"
            "  sort          30  faster\n"
            "  a longer one   7\n");
}

TEST(Grid, CharactersOfManyBytesHaveTheWidthOfOne) {
  Grid grid;
  grid.column("name", Align::left);
  grid.column("x", Align::right);
  grid.row({{"\xc3\xa9t\xc3\xa9"}, {"1"}});
  EXPECT_EQ(grid.render(false), "  name  x\n  \xc3\xa9t\xc3\xa9   1\n");
}

TEST(Grid, ColoursDoNotMoveAnything) {
  Grid grid;
  grid.column("a", Align::right);
  grid.column("b", Align::left);
  grid.row({{"1", Style::bold}, {"x"}});
  grid.row({{"100"}, {"y"}});
  EXPECT_EQ(grid.render(true),
            "    \x1b[2ma\x1b[0m  \x1b[2mb\x1b[0m\n    \x1b[1m1\x1b[0m  x\n  100  y\n");
}

TEST(Paragraph, BreaksAtSpacesAndIndentsWhatFollows) {
  EXPECT_EQ(paragraph("- ", "one two three", 9), "- one two\n  three\n");
  EXPECT_EQ(paragraph("", "averylongword b", 5), "averylongword\nb\n");
  EXPECT_EQ(paragraph("x ", "", 10), "x \n");
}

TEST(IntervalAxis, EndsAtTheOutermostNumbersAndHasZeroInIt) {
  const ChangeInterval faster{.low = -0.2, .value = -0.15, .high = -0.1};
  const ChangeInterval unsure{.low = -0.05, .value = 0, .high = 0.05};
  const IntervalAxis axis({faster, unsure}, 26);
  EXPECT_EQ(axis.header(), "-20 %               0 +5 %");
  EXPECT_EQ(axis.draw(faster), "[----o----]         |     ");
  EXPECT_EQ(axis.draw(unsure), "               [----o----]");
}

TEST(IntervalAxis, OneSideOfZeroIsEnough) {
  const ChangeInterval slower{.low = 0.05, .value = 0.1, .high = 0.15};
  const IntervalAxis axis({slower}, 16);
  EXPECT_EQ(axis.header(), "0          +15 %");
  EXPECT_EQ(axis.draw(slower), "|    [----o----]");
}

TEST(IntervalAxis, WhatIsBeyondIsDrawnAtTheEdge) {
  const ChangeInterval wild{.low = -0.5, .value = 0.5, .high = 40};
  const IntervalAxis axis({wild}, 16);
  EXPECT_EQ(axis.header(), "-50 %     +100 %");
  EXPECT_EQ(axis.draw(wild), "[----|----o---->");
  const ChangeInterval far{.low = 18, .value = 19, .high = 20};
  EXPECT_EQ(IntervalAxis({wild, far}, 16).draw(far), "     |         >");
  const ChangeInterval infinite{.low = -1,
                                .value = std::numeric_limits<double>::infinity(),
                                .high = std::numeric_limits<double>::infinity()};
  EXPECT_EQ(IntervalAxis({infinite}, 16).draw(infinite), "[-------|------>");
}

TEST(IntervalAxis, AnIntervalWithoutWidthIsAPoint) {
  const ChangeInterval exact{.low = -0.1, .value = -0.1, .high = -0.1};
  EXPECT_EQ(IntervalAxis({exact}, 16).draw(exact), "o              |");
  const ChangeInterval none{};
  EXPECT_EQ(IntervalAxis({none}, 17).draw(none), "        o        ");
}

}  // namespace
}  // namespace stab::report
