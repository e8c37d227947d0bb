// SPDX-License-Identifier: MIT
// The sentences and tables of reports about the cost of random layouts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/json.h"
#include "report/sample_document.h"
#include "report/sections/sections.h"
#include "report/text.h"
#include "report/text_testing.h"

namespace stab::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Document with_cost(double ratio, double low, double high) {
  Document document = sample_document();
  document.cost = Cost{
      .response = "cpu",
      .off = {"functions", "stack frames"},
      .all = {.ratio = ratio, .low = low, .high = high, .blocks = 8},
      .benchmarks = {{.benchmark = "sort", .ratio = 1.02, .blocks = 3},
                     {.benchmark = "hash", .ratio = ratio, .low = low, .high = high, .blocks = 8}}};
  return document;
}

bool is_needed_on_screen(const Document& document) {
  const Screen screen = screen_of(document);
  const auto line = std::ranges::find(screen.trust, "Cost", &Screen::Known::label);
  return line != screen.trust.end() && line->is_needed;
}

TEST(Cost, IsOneLineWithAnInterval) {
  const Document document = with_cost(1.012, 1.004, 1.020);
  const std::string line =
      "random layouts themselves cost +1.20 % (+0.40 to +2.00 %) of CPU time (functions, stack "
      "frames; 8 blocks)";
  EXPECT_EQ(cost_text(document), line);
  EXPECT_THAT(words_of(text(document)), HasSubstr("Cost " + line));
  EXPECT_THAT(words_of(text(document, full)), HasSubstr("Cost " + line));
  EXPECT_FALSE(is_needed_on_screen(document));
  EXPECT_THAT(text(sample_document(), full), Not(HasSubstr("random layouts")));
}

TEST(Cost, IfItIsMuchTheScreenWarns) {
  for (const auto& [low, high] : {std::pair(1.11, 1.30), std::pair(0.55, 0.65)}) {
    const Document document = with_cost((low + high) / 2, low, high);
    EXPECT_THAT(cost_text(document), HasSubstr("; warning: users run programs without random"));
    EXPECT_TRUE(is_needed_on_screen(document));
  }
  for (const auto& [low, high] : {std::pair(1.09, 1.30), std::pair(0.85, 0.95)})
    EXPECT_FALSE(is_needed_on_screen(with_cost((low + high) / 2, low, high)));
}

TEST(Cost, WithoutAnIntervalItSaysWhy) {
  Document document = with_cost(1.012, 1, 1);
  document.cost->all.low = document.cost->all.high = std::nullopt;
  document.cost->all.blocks = 1;
  EXPECT_THAT(
      cost_text(document),
      HasSubstr("% of CPU time (functions, stack frames; 1 block, too few for an interval)"));
  document.cost = Cost{.response = "cpu"};
  EXPECT_THAT(cost_text(document), HasSubstr("not known: no block has run the first level both"));
  document.cost->benchmarks = {{.benchmark = "sort"}};
  EXPECT_THAT(cost_text(document), HasSubstr("not known: no block"));
  document.trials.ok = 0;
  EXPECT_EQ(cost_text(document), "") << "nothing has been measured";
}

TEST(Cost, TheFullReportHasEachBenchmark) {
  const Document document = with_cost(1.012, 1.004, 1.020);
  const std::string report = words_of(text(document, full));
  EXPECT_THAT(report, HasSubstr("Cost of random layouts"));
  EXPECT_THAT(report, HasSubstr("benchmark cost 95 % interval blocks"));
  EXPECT_THAT(report, HasSubstr("sort +2.00 % - 3"));
  EXPECT_THAT(report, HasSubstr("hash +1.20 % +0.40 to +2.00 % 8"));
  EXPECT_THAT(report, HasSubstr("all of these +1.20 % +0.40 to +2.00 % 8"));
}

TEST(Cost, JsonHasTheNumbers) {
  const nlohmann::json cost = nlohmann::json::parse(json(with_cost(1.012, 1.004, 1.020)))["cost"];
  EXPECT_EQ(cost["response"], "cpu");
  EXPECT_EQ(cost["ratio"], 1.012);
  EXPECT_EQ(cost["low"], 1.004);
  EXPECT_EQ(cost["high"], 1.020);
  EXPECT_EQ(cost["n"], 8);
  EXPECT_EQ(cost["off"], nlohmann::json({"functions", "stack frames"}));
  EXPECT_FALSE(cost.contains("benchmark"));
  EXPECT_EQ(cost["benchmarks"][0]["benchmark"], "sort");
  EXPECT_EQ(cost["benchmarks"][0]["low"], nullptr);
  EXPECT_EQ(cost["benchmarks"][1]["high"], 1.020);
  EXPECT_EQ(nlohmann::json::parse(json(sample_document()))["cost"], nullptr);
}

}  // namespace
}  // namespace stab::report
