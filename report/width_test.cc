// SPDX-License-Identifier: MIT
// A text report on a narrow terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/sample_document.h"
#include "report/text.h"
#include "report/text_testing.h"
#include "report/words/grid.h"

namespace stab::report {
namespace {

TEST(Width, ParagraphsFitANarrowTerminalAndTablesLeaveOutPictures) {
  const auto wide = lines_of(text(sample_document(), full));
  const auto narrow = lines_of(text(sample_document(), {.full = true, .width = 60}));
  EXPECT_GT(narrow.size(), wide.size());
  for (const std::string& line : narrow) {
    if (display_width(line) <= 60) continue;
    EXPECT_TRUE(
        std::ranges::any_of(wide, [&](const std::string& each) { return each.starts_with(line); }))
        << "no row of a table: " << line;
  }
}

TEST(Width, IsThatOfTheTerminalWithinBounds) {
  EXPECT_EQ(fitting(1), 60U);
  EXPECT_EQ(fitting(80), 80U);
  EXPECT_EQ(fitting(200), page_width);
}

}  // namespace
}  // namespace stab::report
