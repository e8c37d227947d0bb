// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "report/html/markup.h"
#include "report/html/page.h"
#include "report/html/parsing_testing.h"
#include "report/html/parts.h"
#include "report/html/testing.h"

namespace stab::report::html {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const PlannedLevels two_by_two{{"0", "1"}, {"0", "1"}};
const Cells products{{{"0", "0"}, 100}, {{"0", "1"}, 120}, {{"1", "0"}, 200}, {{"1", "1"}, 240}};
const Cells sums{{{"0", "0"}, 100}, {{"0", "1"}, 120}, {{"1", "0"}, 200}, {{"1", "1"}, 220}};

// How far the two lines of a picture of two by two levels rise.
std::pair<double, double> rises(const Figure& figure) {
  const Parsed parsed = parse(figure.picture.str());
  std::vector<Element> lines = elements_named(parsed, "line");
  std::erase_if(lines,
                [](const Element& each) { return !each.attributes.at("class").contains("thin"); });
  EXPECT_EQ(lines.size(), 2U);
  if (lines.size() != 2) return {};
  const auto rise = [](const Element& line) {
    return std::stod(line.attributes.at("y1")) - std::stod(line.attributes.at("y2"));
  };
  return {rise(lines[0]), rise(lines[1])};
}

Figure by_two(const Cells& cells, bool log_scale) {
  stats::Analysis analysis;
  analysis.spec.treatments = {"a", "b"};
  analysis.spec.log_scale = log_scale;
  add_subject(analysis, "s", cells);
  const auto figures = factors(analysis, two_by_two);
  EXPECT_EQ(figures.size(), 2U);
  return figures.empty() ? Figure() : figures.back();
}

TEST(Factors, TreatmentsThatDoNotActOnEachOtherHaveParallelLines) {
  const auto [first, second] = rises(by_two(products, true));
  EXPECT_NEAR(first, second, 0.03);
  EXPECT_GT(first, 10);
  const auto [third, fourth] = rises(by_two(sums, false));
  EXPECT_NEAR(third, fourth, 0.03);
  EXPECT_GT(third, 10);
}

TEST(Factors, TreatmentsThatActOnEachOtherHaveOtherLines) {
  const auto [first, second] = rises(by_two(sums, true));
  EXPECT_GT(first, second + 5);
  const auto [third, fourth] = rises(by_two(products, false));
  EXPECT_GT(fourth, third + 5);
}

// Where the tick of 0 is, so is a change of 0; between ticks ratios have their places.
TEST(Factors, ADotLiesWhereItsNumberSays) {
  const Figure figure = by_two(products, true);
  const Parsed parsed = parse(figure.picture.str());
  std::vector<Element> ticks = elements_named(parsed, "text");
  std::erase_if(ticks,
                [](const Element& each) { return each.attributes.at("class") != "tick end"; });
  ASSERT_GE(ticks.size(), 2U);
  const auto along = [](const std::string& percent) {
    return std::log1p(std::stod(percent) / 100);
  };
  const auto y = [](const Element& each, const char* name) {
    return std::stod(each.attributes.at(name));
  };
  const double from = y(ticks.front(), "y") - 4;
  const double to = y(ticks.back(), "y") - 4;
  const double low = along(ticks.front().text);
  const double high = along(ticks.back().text);
  const auto dots = elements_named(parsed, "circle");
  ASSERT_EQ(dots.size(), 4U);
  for (std::size_t i = 0; i < dots.size(); ++i) {
    const double number = along(figure.numbers.rows[i % 2][1 + i / 2]);
    EXPECT_NEAR(y(dots[i], "cy"), from + (number - low) / (high - low) * (to - from), 0.05);
  }
}

TEST(Factors, SubjectsThatLackACellAreLeftOut) {
  stats::Analysis analysis;
  analysis.spec.treatments = {"a", "b"};
  add_subject(analysis, "s", {products.begin(), products.begin() + 3});
  EXPECT_TRUE(factors(analysis, two_by_two).empty());
  add_subject(analysis, "t", products);
  const auto figures = factors(analysis, two_by_two);
  ASSERT_EQ(figures.size(), 2U);
  // 1 / sqrt(2) and sqrt(2), 1 / sqrt(1.2) and sqrt(1.2): those of t alone.
  const std::vector<std::vector<std::string>> rows{
      {"a=0", "-29.29 %"}, {"a=1", "+41.42 %"}, {"b=0", "-8.71 %"}, {"b=1", "+9.54 %"}};
  EXPECT_EQ(figures[0].numbers.rows, rows);
}

// Percents of changes by 4 and by 1/4 would have the mean +112.5.
TEST(Factors, OnTheLogScaleLogarithmsAreAveraged) {
  stats::Analysis analysis;
  analysis.spec.treatments = {"a", "b"};
  add_subject(analysis, "s",
              {{{"0", "0"}, 100}, {{"0", "1"}, 1600}, {{"1", "0"}, 400}, {{"1", "1"}, 400}});
  const auto figures = factors(analysis, two_by_two);
  ASSERT_EQ(figures.size(), 2U);
  const std::vector<std::vector<std::string>> rows{
      {"a=0", "+0.00 %"}, {"a=1", "+0.00 %"}, {"b=0", "-50.00 %"}, {"b=1", "+100.00 %"}};
  EXPECT_EQ(figures[0].numbers.rows, rows);
}

TEST(Factors, AFractionHasNoPictures) {
  stats::Analysis analysis;
  analysis.spec.treatments = {"a", "b", "c"};
  analysis.spec.chains = {{.effect = 1, .aliases = "b:c"}};
  add_subject(analysis, "s",
              {{{"0", "0", "1"}, 100},
               {{"0", "1", "0"}, 110},
               {{"1", "0", "0"}, 120},
               {{"1", "1", "1"}, 130}});
  EXPECT_TRUE(factors(analysis, {{"0", "1"}, {"0", "1"}, {"0", "1"}}).empty());
}

TEST(Factors, WhatIsNotDrawnIsSaid) {
  Document document;
  stats::Analysis& analysis = document.analysis;
  analysis.spec.treatments = {"a", "b"};
  Background background{.levels = {{}, {}}};
  for (int a = 0; a < 13; ++a) background.levels[0].push_back(std::to_string(a));
  for (int b = 0; b < 9; ++b) background.levels[1].push_back(std::to_string(b));
  Cells cells;
  for (const std::string& a : background.levels[0])
    for (const std::string& b : background.levels[1]) cells.push_back({{a, b}, 100});
  add_subject(analysis, "s", cells);
  const auto figures = factors(analysis, background.levels);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_THAT(figures[0].words, HasSubstr("The picture shows the first 12 of 22 levels."));
  EXPECT_THAT(figures[1].words, HasSubstr("The picture shows the first 12 of 13 levels of a."));
  EXPECT_THAT(figures[1].words, HasSubstr("The picture shows the first 8 of 9 levels of b."));
  EXPECT_THAT(page(document, background), Not(HasSubstr(" pairs.")));

  analysis = {};
  background.levels.clear();
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    analysis.spec.treatments.emplace_back(name);
    background.levels.push_back({"0", "1"});
  }
  cells.clear();
  for (unsigned cell = 0; cell < 64; ++cell) {
    std::vector<std::string> levels;
    for (unsigned t = 0; t < 6; ++t) levels.push_back(cell >> t & 1U ? "1" : "0");
    cells.emplace_back(levels, 100 + cell);
  }
  add_subject(analysis, "s", cells);
  EXPECT_THAT(page(document, background), HasSubstr("Only the first 11 of 15 pairs are shown."));
}

}  // namespace
}  // namespace stab::report::html
