// SPDX-License-Identifier: MIT
#include "report/words/grid.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stab::report
