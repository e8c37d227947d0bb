// SPDX-License-Identifier: MIT
// Pictures say what they leave out and show what the numbers are; residuals are those of the model.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/html/parsing_testing.h"
#include "report/html/parts.h"
#include "report/sample_document.h"

namespace stab::report::html {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Given {
  stats::Analysis analysis;
  Shots shots;

  Given() {
    analysis.spec.treatments = {"opt"};
    analysis.spec.block = "block";
    analysis.spec.log_scale = false;
    analysis.spec.unit = stats::Unit::number;
  }
  std::uint32_t cell(const std::string& subject, const std::string& level) {
    shots.cells.push_back(
        {.name = subject + " opt=" + level, .subject = subject, .levels = {level}});
    return static_cast<std::uint32_t>(shots.cells.size() - 1);
  }
  void add(std::uint32_t cell, std::uint32_t block, double value) {
    shots.shots.push_back({.position = static_cast<std::uint32_t>(shots.shots.size()),
                           .block = block,
                           .cell = cell,
                           .value = value});
    ++shots.cells[cell].ok;
    ++shots.ok;
    ++shots.kept_ok;
  }
  [[nodiscard]] std::vector<SubjectShots> subjects() const { return by_subject(shots, analysis); }
  [[nodiscard]] std::vector<Figure> left() const { return residuals(analysis, shots, subjects()); }
};

std::vector<double> values_in(const Figure& figure) {
  std::vector<double> values;
  for (const auto& row : figure.numbers.rows) values.push_back(std::stod(row[1]));
  return values;
}

TEST(Residuals, TheirDeviationIsByTheDegreesOfFreedomThatAreLeft) {
  // Differences of 1, 3, 2, 6 between two cells: residuals are their halves around 1.5, the mean
  // square is 2 * (1 + 0 + 0.25 + 2.25) / 3.
  Given given;
  const std::uint32_t first = given.cell("s", "a");
  const std::uint32_t second = given.cell("s", "b");
  const double level[] = {100, 250, 90, 400};
  const double more[] = {1, 3, 2, 6};
  for (std::uint32_t block = 0; block < 4; ++block) {
    given.add(first, block, level[block]);
    given.add(second, block, level[block] + more[block]);
  }
  const auto figures = given.left();
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_THAT(values_in(figures[0]),
              ::testing::Pointwise(::testing::DoubleNear(1e-6),
                                   std::vector<double>{-1.5, -1, -0.5, 0, 0, 0.5, 1, 1.5}));
  EXPECT_THAT(figures[0].words, HasSubstr("Standard deviation 1.53."));  // sqrt(7 / 3)
}

TEST(Residuals, BlocksOfWhichOneTrialIsLeftSayNothing) {
  Given given;
  const std::uint32_t first = given.cell("s", "a");
  const std::uint32_t second = given.cell("s", "b");
  for (std::uint32_t block = 0; block < 4; ++block) {
    given.add(first, block, 10.0 * block);
    given.add(second, block, 10.0 * block + (block % 2 == 0 ? 4 : 8));
  }
  const auto whole = given.left();
  for (std::uint32_t block = 4; block < 9; ++block) given.add(first, block, 7.0 * block);
  const auto more = given.left();
  ASSERT_EQ(whole.size(), 1U);
  ASSERT_EQ(more.size(), 1U);
  EXPECT_EQ(values_in(more[0]), values_in(whole[0]));
  EXPECT_EQ(more[0].words, whole[0].words);
}

TEST(Residuals, OfUnbalancedTrialsTheyAreThoseOfLeastSquares) {
  Given given;
  std::vector<std::uint32_t> cells;
  for (const char* level : {"a", "b", "c"}) cells.push_back(given.cell("s", level));
  const double y[4][3] = {{1, 4, 2}, {8, 3, 0}, {0, 5, 9}, {7, 0, 1}};  // 0: none
  for (std::uint32_t block = 0; block < 4; ++block)
    for (std::size_t i = 0; i < 3; ++i)
      if (y[block][i] != 0) given.add(cells[i], block, y[block][i]);
  const auto figures = given.left();
  ASSERT_EQ(figures.size(), 1U);
  const std::vector<double> found = values_in(figures[0]);
  ASSERT_EQ(found.size(), 9U);
  // The least sum of squares that small steps of every parameter find.
  double shown = 0;
  for (const double each : found) shown += each * each;
  std::vector<double> parameters(7);
  const auto sum = [&] {
    double squares = 0;
    for (std::size_t b = 0; b < 4; ++b)
      for (std::size_t i = 0; i < 3; ++i)
        if (y[b][i] != 0) squares += std::pow(y[b][i] - parameters[b] - parameters[4 + i], 2);
    return squares;
  };
  for (double step = 1; step > 1e-7; step /= 2)
    for (bool better = true; better;) {
      better = false;
      for (double& each : parameters)
        for (const double way : {step, -step}) {
          const double before = sum();
          each += way;
          if (sum() < before - 1e-15)
            better = true;
          else
            each -= way;
        }
    }
  EXPECT_NEAR(shown, sum(), 0.01);  // numbers are shown with four digits
  EXPECT_THAT(figures[0].words, HasSubstr(fmt::format("{:.3g}", std::sqrt(sum() / 3))));
}

TEST(Residuals, OfASampleAndOfDesignsWithSeedsThereAreNoneAndThePageSaysSo) {
  Given given;
  const std::uint32_t first = given.cell("s", "a");
  const std::uint32_t second = given.cell("s", "b");
  for (std::uint32_t block = 0; block < 5; ++block) {
    given.add(first, block, 10 + block);
    given.add(second, block, 20 + 3 * block);
  }
  const auto part = [&] {
    return residual_part(given.analysis, given.shots, given.subjects()).str();
  };
  EXPECT_THAT(part(), HasSubstr("the means of its cell and its block"));
  EXPECT_THAT(part(), HasSubstr("<svg"));
  given.analysis.spec.seed = "layout";
  given.analysis.spec.block = "";
  EXPECT_THAT(part(), HasSubstr("the model includes seeds"));
  EXPECT_THAT(part(), Not(HasSubstr("<svg")));
  given.analysis.spec.seed = "";
  given.analysis.spec.block = "block";
  ++given.shots.ok;
  EXPECT_THAT(part(), HasSubstr("only a sample of the values"));
  EXPECT_THAT(part(), Not(HasSubstr("<svg")));
}

TEST(Singles, OfMoreBenchmarksThanPicturesEachSectionSaysSo) {
  Given given;
  for (std::size_t subject = 0; subject < most_pictures + 2; ++subject) {
    const std::string name = "s" + std::to_string(subject);
    const std::uint32_t first = given.cell(name, "a");
    const std::uint32_t second = given.cell(name, "b");
    for (std::uint32_t block = 0; block < 5; ++block) {
      given.add(first, block, 10 + block);
      given.add(second, block, 20 + 3 * block);
    }
  }
  for (const auto& figures :
       {distributions(given.analysis, given.shots, given.subjects()),
        sequences(given.analysis, given.shots, given.subjects()), given.left()}) {
    ASSERT_EQ(figures.size(), most_pictures);
    EXPECT_THAT(figures[0].words, HasSubstr("Only the first 12 of 14 pictures are shown."));
    EXPECT_THAT(figures[1].words, Not(HasSubstr("pictures are shown")));
  }
}

TEST(Singles, OfMoreCellsThanRowsThePictureSaysSo) {
  Given given;
  for (std::size_t level = 0; level < most_lines + 3; ++level) {
    const std::uint32_t cell = given.cell("s", std::to_string(level));
    given.add(cell, 0, 1.0 + static_cast<double>(level));
  }
  const auto figures = distributions(given.analysis, given.shots, given.subjects());
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_THAT(
      figures[0].words,
      HasSubstr("The picture shows only the first 40 of 43 cells; the table has the other cells."));
  EXPECT_EQ(figures[0].numbers.rows.size(), most_lines + 3);
}

// Words and tables count what there is, not what the sample kept.
TEST(Singles, CountsAreThoseOfAllTrials) {
  Given given;
  const std::uint32_t cell = given.cell("s", "a");
  for (std::uint32_t i = 0; i < most_dots; ++i) given.add(cell, i, 100.0 + i % 7);
  given.shots.cells[cell].ok = given.shots.ok = 50'000;
  const auto all = distributions(given.analysis, given.shots, given.subjects());
  EXPECT_THAT(all.front().words, HasSubstr("50000 trials are too many to draw as dots"));
  EXPECT_EQ(all.front().numbers.rows.front()[1], "50000");
  const auto order = sequences(given.analysis, given.shots, given.subjects());
  EXPECT_THAT(order.front().words, HasSubstr("of 50000 trials."));
  EXPECT_EQ(
      kept_words(given.shots),
      "The pictures show 4000 of 50000 numbers, chosen at random with the experiment's seed.");
}

std::vector<Element> elements_of(const Parsed& parsed, const std::string& name,
                                 const std::string& class_end) {
  std::vector<Element> found;
  for (const Element& each : parsed.elements)
    if (const auto is = each.attributes.find("class");
        each.name == name && is != each.attributes.end() && is->second.ends_with(class_end))
      found.push_back(each);
  return found;
}

double place(const Element& element, const char* name) {
  return std::stod(element.attributes.at(name));
}

// Read off by the ticks, as people do.
TEST(Forest, ChangesAndBothIntervalsLieWhereTheirNumbersSay) {
  const stats::Analysis analysis = sample_document().analysis;
  const auto figures = forest(analysis);
  ASSERT_EQ(figures.size(), 1U);
  const Parsed parsed = parse(figures[0].picture.str());
  const auto ticks = elements_of(parsed, "text", "tick middle");
  ASSERT_GE(ticks.size(), 2U);
  const double from = place(ticks.front(), "x");
  const double to = place(ticks.back(), "x");
  const double low = std::stod(ticks.front().text);
  const double high = std::stod(ticks.back().text);
  const auto at = [&](double ratio) {
    return from + (100 * (ratio - 1) - low) / (high - low) * (to - from);
  };
  std::vector<stats::Effect> effects = analysis.effects;
  std::ranges::sort(effects, {}, [](const stats::Effect& each) { return *each.ratio; });
  const auto dots = elements_of(parsed, "circle", "");
  const auto bars = elements_of(parsed, "rect", " faint");
  const auto lines = elements_of(parsed, "line", " thin");
  ASSERT_EQ(dots.size(), effects.size());
  ASSERT_EQ(bars.size(), effects.size());
  ASSERT_EQ(lines.size(), effects.size());
  for (std::size_t i = 0; i < effects.size(); ++i) {
    EXPECT_NEAR(place(dots[i], "cx"), at(*effects[i].ratio), 0.02);
    EXPECT_NEAR(place(bars[i], "x"), at(*effects[i].low), 0.02);
    EXPECT_NEAR(place(bars[i], "x") + place(bars[i], "width"), at(*effects[i].high), 0.03);
    EXPECT_NEAR(place(lines[i], "x1"), at(*effects[i].low_adjusted), 0.02);
    EXPECT_NEAR(place(lines[i], "x2"), at(*effects[i].high_adjusted), 0.02);
  }
}

}  // namespace
}  // namespace stab::report::html
