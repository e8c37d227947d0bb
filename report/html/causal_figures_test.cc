// SPDX-License-Identifier: MIT
// Pictures of causal profiles: which lines have curves, and points against load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "report/html/parts.h"
#include "stats/causal/simulate.h"

namespace stab::report::html {
namespace {

using stats::causal::Profile;
using stats::causal::Simulation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

double third(double x) {
  return x / 3;
}

TEST(CausalPictures, LinesThatSaySomethingHaveCurvesAndAllHaveNumbers) {
  Document document;
  Profile profile = Simulation(1).make({.lines = {{.gain = third}}});
  profile.lines.emplace_back("<b>.cc:7");
  profile.runs[0].experiments.push_back(
      {.line = 1, .effective_ns = 1000, .visits = {{.count = 60}}});
  CausalCell cell{.name = "sort", .profile = std::move(profile)};
  cell.analysis = stats::causal::analyse(cell.profile, {}).value();
  document.causal = {std::move(cell), {.name = "empty", .reason = "nothing"}};
  const auto figures = causal_curves(document);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].title, "sort: point point");
  EXPECT_THAT(figures[0].legend, ElementsAre("a.cc:1"));
  ASSERT_EQ(figures[0].numbers.rows.size(), 2U);
  EXPECT_THAT(figures[0].numbers.rows[1][3], StartsWith("too few to say: "));
  std::vector<std::string> columns;
  for (const Column& each : figures[0].numbers.columns) columns.push_back(each.title);
  EXPECT_THAT(columns,
              ElementsAre("line", "samples", "if it took 25 % less", "finding", "p", "+1 hour"));
  EXPECT_EQ(count_of(figures[0].picture.str(), "<circle"),
            document.causal->front().analysis->points[0].lines[0].steps.size());
  EXPECT_THAT(figures[0].picture.str(), HasSubstr("less time per visit, %"));
}

TEST(CausalPictures, PointsAreDrawnAgainstLoad) {
  Document document;
  CausalLoads cell{.name = "sort", .profile = Simulation(2).make({.lines = {{.gain = third}}})};
  cell.profile.points.push_back({.name = "in", .is_arrival = true});
  cell.profile.loads = {{.asked = 0, .speedup_ns = 0}, {.asked = 0, .speedup_ns = 250'000}};
  for (std::size_t i = 0; i < cell.profile.runs.size(); ++i) {
    cell.profile.runs[i].load = i % 2;
    for (auto& each : cell.profile.runs[i].experiments) {
      each.arrivals = each.visits[0].count;
      each.visits.push_back({.point = 1, .count = each.arrivals});
    }
  }
  cell.loads = stats::causal::analyse_loads(cell.profile, {}).value();
  document.causal_loads = {std::move(cell)};
  const auto figures = causal_loads(document);
  ASSERT_EQ(figures.size(), 1U) << "none of the arrivals themselves";
  ASSERT_EQ(figures[0].numbers.rows.size(), 2U);
  EXPECT_EQ(figures[0].numbers.rows[1][0], "250 us");
  EXPECT_EQ(figures[0].numbers.columns.size(), 3U) << "there is nothing to remark";
  EXPECT_EQ(count_of(figures[0].picture.str(), "<circle"), 2U);
  EXPECT_TRUE(causal_loads(Document()).empty());
  EXPECT_TRUE(causal_curves(Document()).empty());
}

}  // namespace
}  // namespace stab::report::html
