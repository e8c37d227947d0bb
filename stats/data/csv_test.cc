// SPDX-License-Identifier: MIT
#include "stats/data/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace stab::stats {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const CsvColumns y_by_opt{.response = "y", .factors = {"opt"}};

CsvData good(std::string_view text, const CsvColumns& wanted = y_by_opt) {
  auto read = read_csv(text, wanted);
  if (!read) ADD_FAILURE() << read.error().message;
  return read ? *read : CsvData();
}

std::string error_of(std::string_view text, const CsvColumns& wanted = y_by_opt) {
  const auto read = read_csv(text, wanted);
  return read ? "no error" : read.error().message;
}

// The numbers themselves.
std::vector<double> values(const Dataset& data) {
  std::vector<double> result;
  for (const double x : data.response) result.push_back(x + data.centre);
  return result;
}

TEST(Csv, RowsKeepTheirOrderAndLevelsAreSorted) {
  const Dataset data = good("id,opt,y\n1,O3,2\n2,O2,1\n3,O3,3\n").data;
  EXPECT_THAT(values(data), ElementsAre(2, 1, 3));
  EXPECT_THAT(data.columns.at(0).levels, ElementsAre("O2", "O3"));
  EXPECT_THAT(data.columns.at(0).codes, ElementsAre(1, 0, 1));
}

TEST(Csv, LevelsThatAreNumbersAreSortedBySize) {
  const Dataset data = good("opt,y\n10,1\n9,1\nx,1\n-1,1\n1e1,1\n").data;
  EXPECT_THAT(data.columns.at(0).levels, ElementsAre("-1", "9", "10", "1e1", "x"));
}

TEST(Csv, ThousandsOfLevelsKeepTheirCodes) {
  constexpr int levels = 3000;
  std::string text = "opt,y\n";
  for (int row = 0; row < 2 * levels; ++row)
    text += "level " + std::to_string(row % levels) + "," + std::to_string(row) + "\n";
  const Dataset data = good(text).data;
  const Column& column = data.columns.at(0);
  ASSERT_EQ(column.levels.size(), std::size_t{levels});
  for (std::size_t row = 0; row < column.codes.size(); ++row)
    ASSERT_EQ(column.levels[column.codes[row]], "level " + std::to_string(row % levels));
}

TEST(Csv, ByteOrderMarkCarriageReturnsQuotesAndEmptyLinesAreRead) {
  const Dataset data =
      good("\xEF\xBB\xBF\"y\",\"opt\"\r\n\r\n1,\"a,\"\"b\"\"\nc\"\r\n\"2\",plain\r\n\n").data;
  EXPECT_THAT(values(data), ElementsAre(1, 2));
  EXPECT_THAT(data.columns.at(0).levels, ElementsAre("a,\"b\"\nc", "plain"));
}

TEST(Csv, ManyEscapedCellsOfOneRowKeepTheirText) {
  const CsvColumns wanted{.response = "y", .factors = {"a", "b", "c"}};
  const Dataset data =
      good("a,b,c,y\n\"1\"\"\",\"2\"\"\",\"a long text \"\" that is no small string\",4\n", wanted)
          .data;
  EXPECT_THAT(data.columns.at(0).levels, ElementsAre("1\""));
  EXPECT_THAT(data.columns.at(1).levels, ElementsAre("2\""));
  EXPECT_THAT(data.columns.at(2).levels, ElementsAre("a long text \" that is no small string"));
}

TEST(Csv, SemicolonsComeWithDecimalCommas) {
  EXPECT_THAT(values(good("opt;y\na;1,5\nb;2.25\n").data), ElementsAre(1.5, 2.25));
}

TEST(Csv, TabsSeparateIfNothingElseDoes) {
  EXPECT_THAT(values(good("opt\ty\na\t1.5\n").data), ElementsAre(1.5));
}

TEST(Csv, TheLastLineNeedsNoEnd) {
  EXPECT_THAT(values(good("opt,y\na,1\nb,2").data), ElementsAre(1, 2));
  EXPECT_THAT(values(good("y,opt\n1,a\n2,\"b\"").data), ElementsAre(1, 2));
}

TEST(Csv, MissingResponsesAreNaN) {
  const Dataset data = good("opt,y\na,\nb,NA\na,3\nb,nan\n").data;
  ASSERT_EQ(data.response.size(), 4U);
  EXPECT_TRUE(std::isnan(data.response[0]));
  EXPECT_TRUE(std::isnan(data.response[1]));
  EXPECT_EQ(data.response[2] + data.centre, 3);
  EXPECT_TRUE(std::isnan(data.response[3]));
}

TEST(Csv, RowsWithoutALevelAreLeftOutAndCounted) {
  const CsvData read = good("opt,y\n,1\nb,2\nNA,3\n");
  EXPECT_EQ(read.incomplete, 2U);
  EXPECT_THAT(values(read.data), ElementsAre(2));
  EXPECT_TRUE(read.data.is_valid());
}

TEST(Csv, NumbersCloseTogetherAreHeldRelativeToTheFirst) {
  const Dataset data = good("opt,y\na,1000000000000.3\nb,1000000000000.4\n").data;
  EXPECT_THAT(data.response, ElementsAre(0, 0.1));
  EXPECT_EQ(data.centre, 1000000000000.3);
}

TEST(Csv, NumbersFarApartAreHeldAsTheyAre) {
  const Dataset data = good("opt,y\na,1000000000\nb,0.000000001\na,1e300\n").data;
  EXPECT_THAT(data.response, ElementsAre(1e9, 1e-9, 1e300));
  EXPECT_EQ(data.centre, 0);
}

TEST(Csv, ErrorsSayWhere) {
  EXPECT_EQ(error_of("opt,y\na,1\nb,x2\n"),
            "line 3, column 2: 'x2' is not a number, but the column y needs numbers");
  EXPECT_THAT(error_of("opt,y\na\n"), HasSubstr("line 2, column 1: the row has 1 cells"));
  EXPECT_THAT(error_of("opt,y\na,1,2\n"), HasSubstr("line 2, column 3: the row has 3 cells"));
  EXPECT_THAT(error_of("opt,y\n\"a\nb\",1\nc,\"2\n"), HasSubstr("line 4, column 2: the quote"));
  EXPECT_THAT(error_of("opt,y\na\"b,1\n"),
              HasSubstr("line 2, column 1: this cell contains a quote"));
  EXPECT_THAT(error_of("opt,y\n\"a\"b,1\n"), HasSubstr("line 2, column 1: text after"));
  EXPECT_THAT(error_of(std::string_view("opt,y\na\0b,1\n", 12)),
              HasSubstr("line 2, column 1: a zero"));
  EXPECT_THAT(error_of("opt,y\na,1.000,5\n"), HasSubstr("line 2, column 3"));
}

TEST(Csv, UnknownColumnsAreNamedWithTheNearest) {
  EXPECT_THAT(error_of("opts,y\na,1\n"), AllOf(HasSubstr("no column opt;"), HasSubstr("opts?")));
  EXPECT_THAT(error_of("flavour,y\na,1\n"), HasSubstr("the columns are flavour, y"));
  EXPECT_THAT(error_of("opt,y,opt\na,1,b\n"), HasSubstr("opt twice"));
}

TEST(Csv, RowsAreSortedByTheirOrderAsNumbersOrAsTimes) {
  const CsvColumns by_time{.response = "y", .factors = {"opt"}, .order = "t"};
  const CsvData numbers = good("t,opt,y\n10,a,3\n9,b,2\n-1.5,a,1\n", by_time);
  EXPECT_THAT(values(numbers.data), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers.data.columns.at(0).codes, ElementsAre(0, 1, 0));
  EXPECT_EQ(numbers.ties, 0U);
  const CsvData times =
      good("t,opt,y\n2026-02-01T09:00:00,a,3\n2026-01-31T23:59:59,b,2\n2025-12-31,a,1\n", by_time);
  EXPECT_THAT(values(times.data), ElementsAre(1, 2, 3));
}

TEST(Csv, RowsWithOnePlaceInTheOrderKeepTheFilesAndAreCounted) {
  const CsvColumns by_time{.response = "y", .factors = {"opt"}, .order = "t"};
  const CsvData tied = good("t,opt,y\n2,a,3\n1,b,1\n2,a,4\n1,a,2\n3,a,5\n", by_time);
  EXPECT_THAT(values(tied.data), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(tied.ties, 4U);
}

TEST(Csv, AnOrderThatIsNoneIsRefused) {
  const CsvColumns by_time{.response = "y", .factors = {"opt"}, .order = "t"};
  EXPECT_THAT(error_of("t,opt,y\n1,a,1\nsoon,a,2\n", by_time),
              HasSubstr("line 3, column 1: 'soon' does not say when the row was measured"));
  EXPECT_THAT(error_of("t,opt,y\n1,a,1\n,a,2\n", by_time), HasSubstr("line 3, column 1"));
  EXPECT_THAT(error_of("t,opt,y\n1,a,1\n2026-01-31,a,2\n", by_time), HasSubstr("line 3"));
  EXPECT_THAT(error_of("opt,y\na,1\n", by_time), HasSubstr("there is no column t"));
}

TEST(Csv, RowsThatAreNoDataAreLeftOutAndCountedByTheFirstReason) {
  const CsvColumns wanted{
      .response = "y",
      .factors = {"opt"},
      .order = "",
      .only = {{.column = "warmup", .text = "false"}, {.column = "status", .text = "ok"}}};
  const CsvData read =
      good("warmup,status,opt,y\nFALSE,ok,a,1\ntrue,timeout,a,\nfalse,timeout,,x\nfalse, ok,b,2\n",
           wanted);
  EXPECT_THAT(values(read.data), ElementsAre(1, 2));
  EXPECT_THAT(read.left_out, ElementsAre(1U, 1U));
  EXPECT_EQ(read.incomplete, 0U);
}

TEST(Csv, TheHeaderIsWhatNamesTheColumns) {
  EXPECT_THAT(csv_header(" a;\"b c\"\n1;2\n").value(), ElementsAre("a", "b c"));
  EXPECT_THAT(csv_header("\xEF\xBB\xBFopt,y\n").value(), ElementsAre("opt", "y"));
  EXPECT_FALSE(csv_header("\n"));
}

TEST(Csv, TextsWithoutRowsAreRefused) {
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("\n\n"), HasSubstr("empty"));
  EXPECT_THAT(error_of("opt,y\n"), HasSubstr("no rows"));
  EXPECT_THAT(error_of("\xFF\xFEo"), HasSubstr("UTF-16"));
}

}  // namespace
}  // namespace stab::stats
