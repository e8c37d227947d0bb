// SPDX-License-Identifier: MIT
// A section is built once: text, page, Markdown and JSON have its columns and no others.
#include "report/sections/section.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/drawing/testing.h"
#include "report/html/parts.h"
#include "report/json_analysis.h"
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

TEST(Section, JsonHasTheKeysInTheirOrder) {
  EXPECT_EQ(rows_json(a_section("no"))[1].dump(),
            R"({"name":"a<b","low":null,"size":22.0,"levels":{"opt":"O2","trials":3}})");
  EXPECT_EQ(rows_json(a_section("no")).size(), 3U);
  EXPECT_EQ(rows_json({}).dump(), "[]");
}

TEST(Section, TheVarianceOnThePageHasEpsilonAndTheIntervalOfTheShare) {
  const auto y = [](auto b, auto l) { return 100 + 5.0 * l + noise(b, l); };
  const Section section = anova_section(of_blocks(10, 4, y, {}).analysis);
  const Table table = page_table(section.parts.at(0));
  EXPECT_THAT(titles_of(table), Contains("epsilon"));
  EXPECT_THAT(table.rows.at(1).back(), ::testing::ContainsRegex("^0[.][0-9]+ .0[.][0-9]+ to 0[.]"));
  // Why a term has no F stands below the table.
  EXPECT_THAT(section_part("anova", anova_section(of_blocks(4, 5, y, {}).analysis)).str(),
              HasSubstr("No F for opt"));
}

}  // namespace
}  // namespace stab::report::html
