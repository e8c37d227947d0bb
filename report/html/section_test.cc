// SPDX-License-Identifier: MIT
// A section is built once: text, page, Markdown and JSON have its columns and no others.
#include "report/sections/section.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/html/parsing_testing.h"
#include "report/html/parts.h"
#include "report/json.h"
#include "report/sample_document.h"
#include "report/sections/sections.h"

namespace stab::report::html {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Row row_of(const std::string& name, double size, const std::string& remark) {
  return {column("name", known(name), "name", name).named(12).once().on_page_as(name + "!"),
          json_only("low", known(std::nullopt)),
          column("size", size, "size", fmt::format("{:.1f} ms", size)),
          shown_only("remark", remark).left().rare(),
          shown_only("why", "it is so").left().on_page(),
          json_only("levels", Row{json_only("opt", "O2"), json_only("trials", std::uint64_t{3})})};
}

Section a_section(const std::string& remark) {
  return {.title = "Sizes",
          .words = "How large they are.",
          .parts = {{.owner = "sort",
                     .title = "y ~ opt",
                     .rows = {row_of("a<b", 1.5, ""), row_of("a<b", 22, remark), Row(),
                              row_of("a name that is long", 3, "")},
                     .below = {"More is not known."}}}};
}

std::vector<std::string> titles_of(const Table& table) {
  std::vector<std::string> titles;
  for (const Column& each : table.columns) titles.push_back(each.title);
  return titles;
}

TEST(Section, ATextHasItsColumnsAndCutsNames) {
  EXPECT_EQ(section_text(a_section("no"), {}),
            "Sizes\n"
            "  How large they are.\n"
            "\n"
            "  sort: y ~ opt\n"
            "  name                size  remark\n"
            "  a<b               1.5 ms\n"
            "                   22.0 ms  no\n"
            "\n"
            "  a name that ...   3.0 ms\n"
            "  More is not known.\n"
            "\n");
  EXPECT_THAT(section_text(a_section(""), {}), Not(HasSubstr("remark")));
  EXPECT_EQ(section_text({.title = "Sizes"}, {}), "");
}

TEST(Section, ThePageHasWholeNamesAndTheColumnsThatATextHasNoRoomFor) {
  const Table table = page_table(a_section("no").parts[0]);
  EXPECT_THAT(titles_of(table), ElementsAre("name", "size", "remark", "why"));
  EXPECT_THAT(table.rows,
              ElementsAre(ElementsAre("a<b!", "1.5 ms", "", "it is so"),
                          ElementsAre("a<b!", "22.0 ms", "no", "it is so"),
                          ElementsAre("a name that is long!", "3.0 ms", "", "it is so")));
  EXPECT_THAT(titles_of(page_table(a_section("").parts[0])), ElementsAre("name", "size", "why"));
  const std::string part = section_part("sizes", a_section("no")).str();
  EXPECT_EQ(parse(part).problem, "");
  EXPECT_THAT(part, HasSubstr("<section id=\"sizes\"><h2>Sizes</h2>"));
  EXPECT_THAT(part, HasSubstr("<h3>sort: y ~ opt</h3>"));
  EXPECT_THAT(part, HasSubstr("More is not known."));
  EXPECT_EQ(section_part("sizes", {.title = "Sizes"}).str(), "");
}

TEST(Section, MarkdownHasTheColumnsOfThePage) {
  Part part{.rows = {row_of("a|b", 1.5, "no"), Row()}};
  EXPECT_EQ(markdown_table(part),
            "| name | size | remark | why |\n|---|---|---|---|\n"
            "| a\\|b! | 1.5 ms | no | it is so |\n");
  EXPECT_EQ(markdown_table({}), "");
}

TEST(Section, AColumnForTextsIsNotOnThePage) {
  const Part part{.rows = {{column("size", 1.5, "size", "1.5 ms"),
                            column("name", known("a"), "name", "a").in_text()}}};
  EXPECT_EQ(grid_of(part).render(false), "    size  name\n  1.5 ms     a\n");
  EXPECT_THAT(titles_of(page_table(part)), ElementsAre("size"));
  EXPECT_EQ(markdown_table(part), "| size |\n|---|\n| 1.5 ms |\n");
  EXPECT_EQ(rows_json({.parts = {part}})[0].dump(), R"({"size":1.5,"name":"a"})");
}

TEST(Section, JsonHasTheKeysInTheirOrder) {
  EXPECT_EQ(rows_json(a_section("no"))[1].dump(),
            R"({"name":"a<b","low":null,"size":22.0,"levels":{"opt":"O2","trials":3}})");
  EXPECT_EQ(rows_json(a_section("no")).size(), 3U);
  EXPECT_EQ(rows_json({}).dump(), "[]");
}

// A document with more than one row in each section, and with values that are absent.
Document a_document() {
  Document document = sample_document();
  stats::Analysis& analysis = document.analysis;
  analysis.spec.seed = "layout";
  analysis.interactions = {{.subject = "sort", .term = "a:b", .ratio = 1.5, .p_adjusted = 0.1},
                           {.term = "a:c", .spread = stats::Spread{}}};
  analysis.components = {{.subject = "sort", .between = 0.3, .within = 0.1}, {.seed = "layout"}};
  analysis.machine_changes = {
      {.treatment = "a", .machines = {"m", "n"}, .changes = {1.02, 0.97}, .f = 9, .p = 0.001},
      {.treatment = "b", .machines = {"m", "n"}, .changes = {1, -2}, .ratios = false}};
  analysis.padding = {{.subject = "sort", .seeds = {"1", "2"}, .percent = {1, 2}},
                      {.seeds = {"3"}, .percent = {4}}};
  analysis.calibration = stats::Calibration{.benchmarks = {{.subject = "sort"}, {.margin = 0.1}},
                                            .suite = {.comparisons = 2}};
  for (std::size_t i = 0; i < 2; ++i) {
    stats::Effect& effect = analysis.effects.at(i);
    effect.alternatives = effect.averages = {{.method = "rank"}, {.method = "median"}};
    effect.spread.emplace();
    effect.randomization.emplace();
    analysis.assumptions.push_back(
        {.subject = effect.subject, .test = "runs", .holds = false, .instead = "ranks"});
  }
  document.counters = document.measures = {{.name = "cycles", .absent = 1, .reason = "why"},
                                           {.name = "faults", .scaled = 1, .median = 2}};
  document.samples = {{.subject = "sort"}, {.subject = "fft", .share = 0.5}};
  document.exclusions = Exclusions{.rules = {{.when = "a"}, {.when = "b", .open = 1}},
                                   .cells = {{.name = "sort"}, {.name = "fft"}},
                                   .disturbed = 1,
                                   .without = analysis.effects,
                                   .vanished = {analysis.effects[0]}};
  return document;
}

TEST(Section, AllRowsOfATableHaveTheSameColumns) {  // S1
  const Document document = a_document();
  const stats::Analysis& analysis = document.analysis;
  Part effects;
  for (const stats::Effect& each : analysis.effects)
    effects.rows.push_back(effect_row(analysis, each, true));
  const std::vector<Section> sections{means_section(analysis),
                                      components_section(analysis),
                                      machines_section(analysis),
                                      interactions_section(analysis),
                                      spread_section(analysis),
                                      assumptions_section(analysis),
                                      typical_section(analysis, true),
                                      randomization_section(analysis),
                                      alternatives_section(analysis),
                                      padding_section(analysis),
                                      calibration_section(analysis),
                                      anova_section(analysis),
                                      counters_section(document.counters),
                                      measures_section(document.measures),
                                      samples_section(document),
                                      exclusions_section(document),
                                      without_rules_section(document),
                                      {.title = "Changes", .parts = {effects}}};
  for (const Section& section : sections) {
    ASSERT_FALSE(section.parts.empty());
    for (const Part& part : section.parts) {
      std::size_t rows = 0;
      for (const Row& row : part.rows) {
        if (row.empty()) continue;
        ++rows;
        ASSERT_EQ(row.size(), part.rows[0].size()) << section.title;
        for (std::size_t i = 0; i < row.size(); ++i) {
          EXPECT_EQ(row[i].key, part.rows[0][i].key) << section.title;
          EXPECT_EQ(row[i].heading, part.rows[0][i].heading) << section.title;
        }
      }
      if (!part.rows.empty()) EXPECT_GT(rows, 1U) << section.title;
    }
  }
}

TEST(Section, TheVarianceOnThePageHasEpsilonAndTheIntervalOfTheShare) {
  const auto y = [](auto b, auto l) { return 100 + 5.0 * l + noise(b, l); };
  const Section section = anova_section(of_blocks(10, 4, y, {}).analysis);
  const Table table = page_table(section.parts.at(0));
  EXPECT_THAT(titles_of(table), Contains("epsilon"));
  EXPECT_THAT(table.rows.at(1).back(), ::testing::ContainsRegex("^0[.][0-9]+ .0[.][0-9]+ to 0[.]"));
  // Why a term has no F stands below the table.
  EXPECT_THAT(section_part("anova", anova_section(of_blocks(4, 5, y, {}).analysis)).str(),
              HasSubstr("no F for opt"));
}

}  // namespace
}  // namespace stab::report::html
