// SPDX-License-Identifier: MIT
#include "report/html/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "report/html/markup.h"
#include "report/html/parsing_testing.h"
#include "report/html/parts.h"
#include "report/sample_document.h"

namespace stab::report::html {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* hostile = "<script>alert(1)</script>\"&'";

// `each` numbers of every cell of the sample's first subjects, as if they had been its trials.
Background background_of(const Document& document, std::size_t each) {
  Background background{.plan = "[experiment]\nname = \"x\"\n", .directory = "/tmp"};
  for (const stats::CellMean& mean : document.analysis.means) {
    const auto cell = static_cast<std::uint32_t>(background.shots.cells.size());
    background.shots.cells.push_back({.name = mean.subject + " opt=" + mean.levels[0],
                                      .subject = mean.subject,
                                      .levels = mean.levels,
                                      .ok = each});
    for (std::size_t i = 0; i < each; ++i)
      background.shots.shots.push_back(
          {.position = static_cast<std::uint32_t>(background.shots.shots.size()),
           .block = static_cast<std::uint32_t>(i),
           .cell = cell,
           .value = mean.mean * (1 + 0.01 * static_cast<double>(i % 7))});
  }
  background.shots.ok = background.shots.kept_ok = background.shots.shots.size();
  return background;
}

std::vector<Element> dots_in(const Markup& picture) {
  const Parsed parsed = parse(picture.str());
  EXPECT_EQ(parsed.problem, "");
  return elements_named(parsed, "circle");
}

TEST(Page, HasTheCostOfRandomLayouts) {
  Document document = sample_document();
  document.cost = Cost{.response = "cpu",
                       .off = {"functions"},
                       .all = {.ratio = 1.012, .low = 1.004, .high = 1.020, .blocks = 8},
                       .benchmarks = {{.benchmark = hostile, .ratio = 1.012, .blocks = 8}}};
  const std::string text = page(document, {});
  EXPECT_EQ(parse(text).problem, "");
  EXPECT_THAT(text, HasSubstr("random layouts themselves cost +1.20 % (+0.40 to +2.00 %)"));
  EXPECT_THAT(text, HasSubstr("<section id=\"cost\">"));
  EXPECT_THAT(text, Not(HasSubstr(hostile)));
  EXPECT_THAT(page(sample_document(), {}), Not(HasSubstr("<section id=\"cost\">")));
}

TEST(Page, IsWellFormed) {
  const Document document = sample_document();
  EXPECT_EQ(parse(page(document, background_of(document, 5))).problem, "");
  EXPECT_EQ(parse(page(document, {})).problem, "");
  EXPECT_EQ(parse(page({}, {})).problem, "");
}

TEST(Page, BeginsWithTheQuestionAndTheAnswer) {
  const std::string text = page(sample_document(), {});
  const std::size_t question = text.find("Are these programs faster with O2 than with O1?");
  const std::size_t answer = text.find("class=\"answer");
  EXPECT_LT(question, answer);
  EXPECT_LT(answer, text.find("<main>"));
}

TEST(Page, AControlIsMarkedInThePictureAndInItsTable) {
  Document document = sample_document();
  EXPECT_THAT(page(document, {}), Not(HasSubstr("control")));
  document.analysis.spec.control = document.analysis.effects.front().level;
  const std::string text = page(document, {});
  EXPECT_THAT(text, HasSubstr(">(control)</text>"));
  EXPECT_THAT(text, HasSubstr("The control is a second measurement of the first level"));
}

TEST(Page, RefersToNothingOutside) {
  const Document document = sample_document();
  const std::string text = page(document, background_of(document, 5));
  for (const char* each :
       {"http:", "https:", "src=", "url(", "@import", "<script", "<link", "href="})
    EXPECT_THAT(text, Not(HasSubstr(each)));
  EXPECT_THAT(text, HasSubstr("default-src &#39;none&#39;"));
}

TEST(Page, HostileNamesAreText) {
  Document document = sample_document();
  document.experiment = document.question = document.machine = document.reason = hostile;
  document.failures = {hostile};
  document.analysis.notes = {hostile};
  document.counters = {{.name = hostile, .unit = hostile, .absent = 1, .reason = hostile}};
  for (stats::CellMean& mean : document.analysis.means) mean.subject = hostile;
  for (stats::Effect& effect : document.analysis.effects) effect.level = hostile;
  for (stats::AnovaTable& table : document.analysis.tables) table.formula = hostile;
  Background background = background_of(document, 4);
  background.plan = background.directory = hostile;
  background.builds = {{.benchmark = hostile, .command = hostile}};
  background.machine = {{.name = hostile, .value = hostile}};
  background.chances = {{.what = hostile, .how = hostile}};
  const std::string text = page(document, background);
  const Parsed parsed = parse(text);
  EXPECT_EQ(parsed.problem, "");
  EXPECT_EQ(elements_named(parsed, "script").size(), 0U);
  EXPECT_EQ(elements_named(parsed, "h1").front().text, std::string(hostile) + " (experiment 3)");
}

TEST(Page, EachPictureHasItsTableAndIsNamed) {
  const Document document = sample_document();
  const Parsed parsed = parse(page(document, background_of(document, 5)));
  const auto figures = elements_named(parsed, "figure");
  ASSERT_GT(figures.size(), 10U);
  EXPECT_EQ(elements_named(parsed, "svg").size(), figures.size());
  for (const Element& svg : elements_named(parsed, "svg")) {
    EXPECT_EQ(svg.attributes.at("role"), "img");
    EXPECT_NE(svg.attributes.at("aria-label"), "");
  }
  std::size_t tables = 0;
  for (std::size_t i = 0; i < parsed.elements.size(); ++i) {
    if (parsed.elements[i].name != "figure") continue;
    const std::size_t depth = parsed.elements[i].depth;
    for (std::size_t j = i + 1; j < parsed.elements.size() && parsed.elements[j].depth > depth; ++j)
      tables += parsed.elements[j].name == "table" ? 1 : 0;
  }
  EXPECT_EQ(tables, figures.size());
}

TEST(Page, HasAtMostSoManyDotsAndRows) {
  const Document document = sample_document();
  const Parsed few = parse(page(document, background_of(document, 20)));
  const Parsed many = parse(page(document, background_of(document, 3000)));
  EXPECT_EQ(many.problem, "");
  // Distributions and sequences, then residuals and changes.
  EXPECT_LE(elements_named(many, "circle").size(), 2 * most_dots + most_pictures * 300 + 100);
  EXPECT_GT(elements_named(few, "circle").size(), 2 * 240U);
  EXPECT_THAT(many.elements[0].text, HasSubstr("6000 trials are too many to draw as dots"));
  EXPECT_THAT(many.elements[0].text, HasSubstr("666 of 6000 trials."));
}

TEST(Page, SaysHowManyTrialsAreKept) {
  Document document = sample_document();
  Background background = background_of(document, 5);
  EXPECT_EQ(kept_words(background.shots), "");
  background.shots.ok = 1000;
  EXPECT_THAT(page(document, background), HasSubstr("show 60 of 1000 numbers, chosen at "
                                                    "random with the experiment&#39;s seed."));
}

TEST(Sequences, ADotLiesWhereItsNumberSays) {
  const Document document = sample_document();
  const Background background = background_of(document, 5);
  const auto subjects = by_subject(background.shots, document.analysis);
  const auto figures = sequences(document.analysis, background.shots, subjects);
  ASSERT_EQ(figures.size(), subjects.size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto dots = dots_in(figures[i].picture);
    ASSERT_EQ(dots.size(), subjects[i].shots.size());
    const auto at = [&](std::size_t n, const char* name) {
      return std::stod(dots[n].attributes.at(name));
    };
    const Shot& first = *subjects[i].shots.front();
    const Shot& last = *subjects[i].shots.back();
    for (std::size_t n = 0; n < dots.size(); ++n) {
      const Shot& shot = *subjects[i].shots[n];
      // As far between the first and the last one as its position is.
      const double along =
          (shot.position - first.position) / double(last.position - first.position);
      EXPECT_NEAR(at(n, "cx"), std::lerp(at(0, "cx"), at(dots.size() - 1, "cx"), along), 0.02);
      for (std::size_t m = 0; m < n; ++m)
        EXPECT_EQ(shot.value<subjects[i].shots[m]->value, at(n, "cy")> at(m, "cy") + 0.011)
            << "more is above";
    }
  }
}

// Read off by the ticks, as people do.
TEST(Distributions, ADotLiesWhereItsNumberSays) {
  const Document document = sample_document();
  const Background background = background_of(document, 5);
  const auto subjects = by_subject(background.shots, document.analysis);
  const auto figures = distributions(document.analysis, background.shots, subjects);
  ASSERT_EQ(figures.size(), subjects.size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Parsed parsed = parse(figures[i].picture.str());
    std::vector<Element> ticks = elements_named(parsed, "text");
    std::erase_if(ticks,
                  [](const Element& each) { return each.attributes.at("class") != "tick middle"; });
    ASSERT_GE(ticks.size(), 2U);
    const auto place = [](const Element& each, const char* name) {
      return std::stod(each.attributes.at(name));
    };
    const double from = place(ticks.front(), "x");
    const double to = place(ticks.back(), "x");
    const double low = std::stod(ticks.front().text);
    const double high = std::stod(ticks.back().text);
    const auto dots = dots_in(figures[i].picture);
    ASSERT_EQ(dots.size(), subjects[i].shots.size());
    for (std::size_t n = 0; n < dots.size(); ++n) {
      const double value = subjects[i].shots[n]->value / subjects[i].scale.factor;
      EXPECT_NEAR(place(dots[n], "cx"), from + (value - low) / (high - low) * (to - from), 0.02);
    }
  }
}

TEST(Sequences, FailedAndDisturbedTrialsAreMarked) {
  const Document document = sample_document();
  Background background = background_of(document, 5);
  background.shots.shots[1].fate = Fate::disturbed;
  background.shots.shots[2].fate = Fate::failed;
  const auto subjects = by_subject(background.shots, document.analysis);
  const Figure figure = sequences(document.analysis, background.shots, subjects).front();
  EXPECT_THAT(figure.words, HasSubstr("Rings mark disturbed"));
  EXPECT_THAT(figure.words, HasSubstr("Crosses at the lower edge"));
  EXPECT_THAT(figure.picture.str(), HasSubstr("class=\"failed\""));
  EXPECT_THAT(figure.picture.str(), HasSubstr("hollow"));
  EXPECT_EQ(figure.numbers.rows[1].back(), "disturbed");
  EXPECT_EQ(figure.numbers.rows[2].back(), "failed");
  // Neither is among the trials of a cell.
  EXPECT_EQ(subjects.front().cells.front().values.size(), 3U);
}

TEST(Forest, ChangesAreSortedWithTheirIntervals) {
  const Document document = sample_document();
  const auto figures = forest(document.analysis);
  ASSERT_EQ(figures.size(), 1U);
  const auto dots = dots_in(figures[0].picture);
  ASSERT_EQ(dots.size(), document.analysis.effects.size());
  for (std::size_t i = 1; i < dots.size(); ++i)
    EXPECT_LE(std::stod(dots[i - 1].attributes.at("cx")), std::stod(dots[i].attributes.at("cx")));
  EXPECT_EQ(figures[0].numbers.rows.size(), dots.size());
}

TEST(Forest, BarsAreExplainedWhereThereAreSome) {
  stats::Analysis analysis = sample_document().analysis;
  EXPECT_THAT(forest(analysis)[0].words, StartsWith("Bars are 95 % intervals"));
  const auto without_interval = [](stats::Effect& effect) {
    for (auto* number : {&effect.low, &effect.high, &effect.low_adjusted, &effect.high_adjusted})
      number->reset();
    effect.exact = true;
  };
  ASSERT_GT(analysis.effects.size(), 1U);
  without_interval(analysis.effects.front());
  EXPECT_THAT(forest(analysis)[0].words, HasSubstr("dots without a bar have no interval"));
  std::ranges::for_each(analysis.effects, without_interval);
  const Figure exact = forest(analysis)[0];
  EXPECT_THAT(exact.words, StartsWith("Dots are changes that are known exactly, so"));
  EXPECT_EQ(exact.picture.str().find(" faint"), std::string::npos);
}

TEST(Residuals, OfNumbersThatAreTheirMeansThereIsNoPicture) {
  const Document document = sample_document();
  Background background = background_of(document, 5);
  for (Shot& shot : background.shots.shots) shot.value = 1e6;
  const auto subjects = by_subject(background.shots, document.analysis);
  EXPECT_TRUE(residuals(document.analysis, background.shots, subjects).empty());
}

TEST(Page, HasTablesOfVarianceAndCounters) {
  Document document = sample_document();
  document.analysis.spec.seed = "layout";
  document.analysis.components = {
      {.subject = "sort", .seed = "layout", .between = 0.0003, .within = 0.0001, .p = 0.002}};
  document.counters = {
      {.name = "page-faults", .counted = 58, .absent = 2, .median = 120, .reason = "not here"}};
  const Parsed parsed = parse(page(document, {}));
  const auto has_row = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (const std::string& each : cells) text += each + "\n";
    return std::ranges::any_of(elements_named(parsed, "tr"),
                               [&](const Element& row) { return row.text.starts_with(text); });
  };
  EXPECT_TRUE(has_row({"sort", "1.73 %", "1 %", "75 %", "0.00200"}));
  EXPECT_TRUE(has_row({"page-faults", "58", "120", "2", "absent in 2 of the trials: not here"}));
  EXPECT_TRUE(std::ranges::any_of(elements_named(parsed, "h3"), [&](const Element& title) {
    return title.text.contains(document.analysis.tables[0].formula);
  }));
}

TEST(Page, FurtherResponsesHaveTheirChanges) {
  Document document = sample_document();
  document.others.push_back(document.analysis);
  document.others[0].spec.response = "page-faults";
  EXPECT_THAT(page(document, {}), HasSubstr("Changes in percent of page-faults"));
}

TEST(Page, SaysAboutTheTrialsWhatTheTextSays) {
  Document document = sample_document();
  document.settings = {"CC = szc", "opt: O1 sets CFLAGS = -O1"};
  document.from_ns = document.to_ns = 1'700'000'000'000'000'000;
  document.source = {.branch = "main", .commit = std::string(40, 'a')};
  stats::Analysis count = document.analysis;
  count.spec.response = "instructions";
  count.spec.unit = stats::Unit::number;
  for (stats::Effect& effect : count.effects) effect.verdict = stats::Verdict::slower;
  document.others = {count};
  document.counts = {"instructions"};
  const std::string text = page(document, {});
  for (const char* each : {"<dt>Sets</dt>\n<dd>CC = szc</dd>", "<dd>opt: O1 sets CFLAGS = -O1</dd>",
                           "<dt>Measured</dt>\n<dd>2023-11-14 22:13 to 22:13 UTC</dd>",
                           "<dt>Source</dt>\n<dd>main aaaaaaaa</dd>",
                           "the time and the count disagree about which level is better.</dd>"})
    EXPECT_THAT(text, HasSubstr(each));
}

TEST(Table, OfTooManyRowsThePageSaysHowManyThereAre) {
  Table numbers{.columns = {{"n", true}}};
  for (std::size_t i = 0; i < most_rows + 1; ++i) numbers.rows.push_back({"1"});
  const Parsed parsed = parse(table(numbers).str());
  EXPECT_EQ(elements_named(parsed, "td").size(), most_rows);
  EXPECT_THAT(parsed.elements.back().text,
              HasSubstr("The table shows the first 1000 of 1001 rows"));
}

}  // namespace
}  // namespace stab::report::html
