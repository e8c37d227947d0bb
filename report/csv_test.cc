// SPDX-License-Identifier: MIT
#include "report/csv.h"

#include <gtest/gtest.h>

#include <array>

namespace stab::report {
namespace {

TEST(Csv, PlainCellsStayAsTheyAre) {
  EXPECT_EQ(csv_cell("O2"), "O2");
  EXPECT_EQ(csv_cell(""), "");
  EXPECT_EQ(csv_cell("two words"), "two words");
}

TEST(Csv, CommasQuotesAndLineBreaksAreQuoted) {
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_cell("a\nb"), "\"a\nb\"");
  EXPECT_EQ(csv_cell("a\r"), "\"a\r\"");
  EXPECT_EQ(csv_cell(" lead"), "\" lead\"");
}

TEST(Csv, ALineEndsAsTheRfcSays) {
  EXPECT_EQ(csv_line(std::array<std::string, 3>{"1", "a,b", ""}), "1,\"a,b\",\r\n");
  EXPECT_EQ(csv_line({}), "\r\n");
}

}  // namespace
}  // namespace stab::report
