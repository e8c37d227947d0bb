// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "report/html/canvas.h"
#include "report/html/markup.h"
#include "report/html/page.h"
#include "report/html/parsing_testing.h"
#include "report/html/parts.h"
#include "report/html/testing.h"

namespace stab::report::html {
namespace {

// Without the grounds of labels.
std::vector<Element> bars_of(const Figure& figure) {
  auto found = elements_named(parse(figure.picture.str()), "rect");
  std::erase_if(found, [](const Element& each) { return each.attributes.at("class") == "back"; });
  return found;
}

std::vector<std::string> colours_of(const Figure& figure) {
  std::vector<std::string> found;
  for (const Element& each : bars_of(figure)) found.push_back(each.attributes.at("class"));
  return found;
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Overheads, EachCellIsComparedWithTheFirstOneOfItsSubject) {
  stats::Analysis analysis;
  analysis.spec.treatments = {"a"};
  add_subject(analysis, "s", {{{"none"}, 100}, {{"x"}, 125}, {{"y"}, 80}});
  const auto figures = overheads(analysis, {{"none", "x", "y"}});
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].numbers.rows[0].back(), "reference");
  EXPECT_EQ(figures[0].numbers.rows[1].back(), "+25.00 %");
  EXPECT_EQ(figures[0].numbers.rows[2].back(), "-20.00 %");
  EXPECT_THAT(figures[0].words, Not(HasSubstr("no cells are compared")));
}

TEST(Overheads, WhatLacksItsReferenceIsNotCompared) {
  stats::Analysis analysis;
  analysis.spec.treatments = {"a"};
  add_subject(analysis, "r", {{{"x"}, 100}, {{"y"}, 150}});
  const PlannedLevels levels{{"none", "x", "y"}};
  EXPECT_TRUE(overheads(analysis, levels).empty());
  add_subject(analysis, "s", {{{"none"}, 100}, {{"x"}, 125}, {{"y"}, 80}});
  const auto figures = overheads(analysis, levels);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_THAT(figures[0].words, HasSubstr("(a=none)"));
  EXPECT_THAT(figures[0].words, HasSubstr("no cells are compared"));
  EXPECT_EQ(figures[0].numbers.rows[0].back(), "-");
  EXPECT_EQ(figures[0].numbers.rows[1].back(), "-");
  EXPECT_EQ(figures[0].numbers.rows[3].back(), "+25.00 %");
  EXPECT_EQ(colours_of(figures[0]).size(), 2U);
}

// What is green among the changes is green here, too.
TEST(Overheads, TheirColoursAreThoseOfTheChanges) {
  stats::Analysis analysis;
  analysis.spec.treatments = {"a"};
  add_subject(analysis, "s", {{{"none"}, 100}, {{"slow"}, 125}, {{"fast"}, 80}, {{"new"}, 100}});
  for (const auto& [level, verdict] :
       {std::pair{"slow", stats::Verdict::slower}, std::pair{"fast", stats::Verdict::faster}}) {
    stats::Effect effect;
    effect.subject = "s";
    effect.treatment = "a";
    effect.level = level;
    effect.baseline = "none";
    effect.verdict = verdict;
    effect.ratio = 1;
    analysis.effects.push_back(effect);
  }
  const auto figures = overheads(analysis, {{"none", "slow", "fast", "new"}});
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_THAT(colours_of(figures[0]), ElementsAre("bad", "good", no_verdict));
  EXPECT_EQ(colour_of(analysis, analysis.effects[0]), "bad");
  EXPECT_THAT(figures[0].words, HasSubstr(colour_words));
  for (std::size_t group = 0; group < colours; ++group)
    EXPECT_THAT(colour_class(group), ::testing::StartsWith("c")) << "never good or bad";
}

TEST(Overheads, ARawMeanThatMayBeZeroIsNoReference) {
  stats::Analysis analysis;
  analysis.spec.treatments = {"a"};
  analysis.spec.log_scale = false;
  add_subject(analysis, "s", {{{"none"}, 1}, {{"x"}, 125}, {{"y"}, 80}});
  const PlannedLevels levels{{"none", "x", "y"}};
  EXPECT_TRUE(overheads(analysis, levels).empty());
  analysis.means[0].low = -3;
  EXPECT_TRUE(overheads(analysis, levels).empty());
  analysis.means[0].low = 0.9;
  EXPECT_EQ(overheads(analysis, levels).size(), 1U);
}

TEST(Seeds, MoreThanThereArePicturesAreSaid) {
  Document document;
  for (std::size_t i = 0; i < most_pictures + 2; ++i)
    document.analysis.padding.push_back({.subject = "s" + std::to_string(i),
                                         .treatment = "a",
                                         .baseline = "x",
                                         .level = "y",
                                         .seeds = {"11"},
                                         .percent = {1}});
  EXPECT_THAT(page(document, {}), HasSubstr("Only the first 12 of 14 comparisons are shown."));
  document.analysis.padding.resize(most_pictures);
  EXPECT_THAT(page(document, {}), Not(HasSubstr(" comparisons are shown")));
}

TEST(Seeds, EachPaddingHasItsBar) {
  stats::Analysis analysis;
  analysis.padding = {{.subject = "s",
                       .treatment = "a",
                       .baseline = "x",
                       .level = "y",
                       .seeds = {"11", "12"},
                       .percent = {-1.5, 2}}};
  const auto figures = seeds(analysis);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].title, "s: a=y against x");
  EXPECT_EQ(figures[0].numbers.rows[0], (std::vector<std::string>{"11", "-1.50 %"}));
  const auto bars = bars_of(figures[0]);
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_NEAR(4 * std::stod(bars[0].attributes.at("width")),
              3 * std::stod(bars[1].attributes.at("width")), 0.05);
}

TEST(Floors, EachHasItsBar) {
  stats::Analysis analysis;
  analysis.calibration.emplace();
  analysis.calibration->benchmarks = {
      {.subject = "sort", .comparisons = 20, .significant = 1, .margin = 0.004}};
  analysis.calibration->any = {
      .comparisons = 40, .margin = 0.008, .interval = stats::Interval{.low = 0.006, .high = 0.01}};
  const auto figures = floors(analysis);
  ASSERT_EQ(figures.size(), 1U);
  ASSERT_EQ(figures[0].numbers.rows.size(), 2U);
  EXPECT_EQ(figures[0].numbers.rows[0][0], "any one program");
  EXPECT_EQ(figures[0].numbers.columns[5].title, "noise floor");
  EXPECT_EQ(figures[0].numbers.rows[1][5], "0.40 %");
  const auto bars = bars_of(figures[0]);
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_NEAR(std::stod(bars[0].attributes.at("width")),
              2 * std::stod(bars[1].attributes.at("width")), 0.03);
  EXPECT_THAT(figures[0].words, Not(HasSubstr("only the first")));

  analysis.calibration->benchmarks.resize(most_lines, analysis.calibration->benchmarks[0]);
  const Figure many = floors(analysis).front();
  EXPECT_THAT(many.words, HasSubstr("The picture shows only the first 40 of 41 noise floors."));
  EXPECT_THAT(many.picture.str(), HasSubstr("any one program"));
}

}  // namespace
}  // namespace stab::report::html
