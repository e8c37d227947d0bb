// SPDX-License-Identifier: MIT
#include "results/history.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "results/history_testing.h"

namespace stab::results::history {
namespace {

using ::testing::ElementsAre;

TEST(History, AStepIsAChangeWithItsSize) {
  const History history = make_history("sort", step(1.05), {});
  ASSERT_EQ(history.series.size(), 1U);
  ASSERT_EQ(history.series[0].changes.size(), 1U);
  const Change& change = history.series[0].changes[0];
  EXPECT_EQ(change.at, 9U);
  EXPECT_NEAR(change.ratio.value_or(0), 1.05, 0.002);
  EXPECT_LE(change.p, 0.01);
  EXPECT_EQ(history.permutations, 999U);
}

TEST(History, ADifferenceOfFactsIsAChangeHoweverFewThereAre) {
  std::vector<Experiment> all = sizes();
  const History history = make_history("sort", all, {});
  ASSERT_EQ(history.series[0].changes.size(), 1U);
  EXPECT_EQ(history.series[0].changes[0].at, 2U);
  EXPECT_FALSE(history.series[0].changes[0].p);
  EXPECT_TRUE(history.series[0].exact);
  // Sizes that vary, as those of random builds, are tested as ever.
  all[1].means[0] = {.n = 30, .mean = 1004, .low = 1001, .high = 1007};
  EXPECT_FALSE(make_history("sort", all, {}).series[0].exact);
}

TEST(History, NumbersOfAnySignHaveDifferences) {
  std::vector<Experiment> all = step(1.05);
  for (Experiment& each : all) each.means[0] = {.n = 3, .mean = each.means[0].mean - 1.03e6};
  const History history = make_history("sort", all, {});
  ASSERT_EQ(history.series[0].changes.size(), 1U);
  EXPECT_FALSE(history.series[0].changes[0].ratio);
  EXPECT_NEAR(history.series[0].changes[0].difference, 0.05e6, 2000);
}

TEST(History, ExperimentsAreInTheOrderOfTimeAndEachCellIsASeries) {
  std::vector<Experiment> all = step(1.05);
  std::ranges::reverse(all);
  for (Experiment& each : all) {
    each.means[0].levels = {{"opt", "O2"}};
    each.means.push_back({.levels = {{"opt", "O3"}}, .n = 30, .mean = 7e5});
  }
  const History history = make_history("sort", all, {});
  ASSERT_EQ(history.series.size(), 2U);
  EXPECT_EQ(history.experiments.front().id, 1);
  EXPECT_EQ(history.series[0].changes.size(), 1U);
  EXPECT_TRUE(history.series[1].changes.empty()) << "it never changes";
  EXPECT_DOUBLE_EQ(history.alpha_of_each, 0.025);
}

TEST(History, WhatIsNotComparableWithTheLatestIsLeftOutWithTheReason) {
  std::vector<Experiment> all = step(1);
  all[0].machine = "other: a CPU, 2 CPUs, Linux 6.1, Debian";
  all[0].hardware = "other: a CPU, 2 CPUs";
  all[1].response = "user";
  all[2].simulated = true;
  all[3].log_scale = false;
  all[4].unit = stats::Unit::bytes;
  all[5].machine = "";
  const History history = make_history("sort", all, {});
  EXPECT_EQ(history.experiments.size(), 10U);
  std::vector<std::string> reasons;
  for (const LeftOut& each : history.left_out) reasons.push_back(each.reason);
  EXPECT_THAT(reasons,
              ElementsAre("another machine: other: a CPU, 2 CPUs, Linux 6.1, Debian",
                          "its response is user", "the trials ran under a simulator",
                          "its means are arithmetic", "its response is wall in another unit",
                          "another machine: not known"));
}

TEST(History, AnotherCompilerOrKernelIsSaidWhereItBegins) {
  std::vector<Experiment> all = step(1);
  for (int i = 5; i < 16; ++i) all[i].settings = {"CC = clang-20"};
  for (int i = 2; i < 16; ++i) all[i].versions = "stabd 0.1.0; built by clang 19";
  for (int i = 9; i < 16; ++i) all[i].versions = "stabd 0.1.0; built by clang 22";
  for (int i = 7; i < 16; ++i) all[i].machine = "lab: a CPU, 2 CPUs, Linux 6.2, Debian";
  const History history = make_history("sort", all, {});
  EXPECT_EQ(history.experiments.size(), 16U);
  for (std::size_t i = 0; i < 16; ++i) {
    std::vector<std::string> expected;
    if (i == 5) expected.push_back("different settings than before: CC = clang-20");
    if (i == 7) expected.push_back("different kernel or system than before");
    if (i == 9) expected.push_back("different versions of stabd or of compilers than before");
    EXPECT_EQ(history.remarks[i], expected) << i;
  }
}

TEST(History, NodesWithTheSameHardwareCountAsOneMachineIfTheUserAsks) {
  std::vector<Experiment> all = on_nodes(step(1), 12, {"n1", "n2"}, {"n2", "n3"});
  const History apart = make_history("sort", all, {});
  EXPECT_EQ(apart.experiments.size(), 4U);
  ASSERT_EQ(apart.left_out.size(), 12U);
  EXPECT_EQ(apart.left_out[0].reason,
            "other nodes with the same hardware: n1, n2 ('--pool' includes them)");
  const History pool = make_history("sort", all, {.pool = true});
  EXPECT_EQ(pool.experiments.size(), 16U);
  EXPECT_THAT(pool.remarks[12], ElementsAre("different nodes than before: n2, n3"));
  EXPECT_TRUE(pool.remarks[11].empty() && pool.remarks[13].empty());
  all[0].pool = "another CPU";
  EXPECT_EQ(make_history("sort", all, {.pool = true}).left_out.size(), 1U);
  for (Experiment& each : all) each.pool.clear();
  EXPECT_EQ(make_history("sort", all, {.pool = true}).left_out.size(), 12U) << "it is not known";
}

TEST(History, AChangeThatMayComeFromTheNodesHasNoVerdict) {
  const auto change = [](const std::vector<std::string>& nodes,
                         const std::vector<std::string>& later) {
    return make_history("sort", on_nodes(step(1.05), 9, nodes, later), {.pool = true})
        .series.at(0)
        .changes.at(0);
  };
  EXPECT_TRUE(change({"n1", "n2"}, {"n3"}).other_nodes);
  EXPECT_TRUE(change({"n1", "n2"}, {"n2", "n3"}).other_nodes);
  EXPECT_FALSE(change({"n1", "n2"}, {"n2"}).other_nodes);
  EXPECT_FALSE(change({"n1"}, {"n1", "n2"}).other_nodes);
  EXPECT_TRUE(change({"n1"}, {"n1", "n2", "n3"}).other_nodes) << "most of the work moved";
  EXPECT_FALSE(make_history("sort", step(1.05), {}).series.at(0).changes.at(0).other_nodes);
  // A single experiment on an earlier node does not show that the others' nodes are as fast.
  std::vector<Experiment> all = on_nodes(step(1.05), 9, {"n1"}, {"n2"});
  all.back().nodes = {"n1"};
  EXPECT_TRUE(make_history("sort", all, {.pool = true}).series.at(0).changes.at(0).other_nodes);
}

TEST(History, MissingTrialsAreSaidBesideTheMeanThatLacksThem) {
  std::vector<Experiment> all = step(1);
  report::Document document;
  document.trials = {.planned = 40, .ok = 36, .failed = 2, .skipped = 1, .disturbed = 1};
  const Experiment counted = experiment_in(document, "sort");
  for (const std::size_t i : {0U, 4U}) {
    all[i].trials = counted.trials;
    all[i].missing = counted.missing;
  }
  const History history = make_history("sort", all, {});
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_EQ(history.remarks[i], i == 0 || i == 4
                                      ? std::vector<std::string>{"4 of 40 trials are missing"}
                                      : std::vector<std::string>())
        << i;
}

TEST(History, TrialsThatTimeOutCanRaiseAnAlarm) {
  std::vector<Experiment> all = step(1);
  Mean& last = all.back().means[0];
  last.missing = 4;
  last.loss_low = 1.2 * last.mean;
  last.loss_interval_low = 1.1 * last.mean;
  const History history = make_history("sort", all, {});
  ASSERT_EQ(history.series[0].alarms.size(), 1U) << "the mean of the other trials is as before";
  EXPECT_EQ(history.series[0].alarms[0].at, 15U);
}

TEST(History, TrialsThatTimedOutBeforeAChangeMayHaveBeenAsSlow) {
  std::vector<Experiment> all = step(1.2);
  ASSERT_TRUE(make_history("sort", all, {}).series[0].changes[0].stands);
  std::ranges::rotate(all, all.begin() + 3);  // 6 quick, 7 slow, 3 quick
  for (std::size_t i = 0; i < 16; ++i) all[i].at_ns = static_cast<std::int64_t>(i + 1) * 1000;
  for (std::size_t i = 0; i < 6; ++i) all[i].means[0].missing = 1;
  for (std::size_t i = 0; i < 6; ++i) all[i].means[0].loss_low = all[i].means[0].mean;
  for (const Change& each : make_history("sort", all, {}).series[0].changes)
    EXPECT_EQ(each.stands, each.at != 6U) << each.at;
}

TEST(History, TrialsLostWithoutALimitMakeNoAlarm) {
  std::vector<Experiment> all = step(1);
  for (std::size_t i = 11; i < 16; ++i) all[i].means[0].mean *= 1.2;
  const History complete = make_history("sort", all, {});
  ASSERT_EQ(complete.series[0].alarms.size(), 1U);
  EXPECT_EQ(complete.series[0].alarms[0].at, 11U);
  ASSERT_EQ(complete.series[0].changes.size(), 1U);
  EXPECT_TRUE(complete.series[0].changes[0].stands);
  for (std::size_t i = 11; i < 16; ++i) all[i].means[0].missing = 2;
  const History open = make_history("sort", all, {});
  EXPECT_TRUE(open.series[0].alarms.empty());
  ASSERT_EQ(open.series[0].changes.size(), 1U);
  EXPECT_FALSE(open.series[0].changes[0].stands);
  // Failed trials took at most their timeout, which says nothing against a slower program.
  for (std::size_t i = 11; i < 16; ++i) all[i].means[0].loss_high = 2e6;
  EXPECT_TRUE(make_history("sort", all, {}).series[0].alarms.empty());
  for (std::size_t i = 11; i < 16; ++i) all[i].means[0].loss_low = 1.1e6;
  const History bounded = make_history("sort", all, {});
  ASSERT_EQ(bounded.series[0].alarms.size(), 1U);
  EXPECT_TRUE(bounded.series[0].changes[0].stands);
  for (std::size_t i = 11; i < 16; ++i) all[i].means[0].loss_low = 1.0e6;
  EXPECT_TRUE(make_history("sort", all, {}).series[0].alarms.empty()) << "as before";
}

TEST(History, AMissingTrialLongAgoDoesNotHideALaterChange) {
  std::vector<Experiment> all = step(1);
  for (std::size_t i = 12; i < 16; ++i) all[i].means[0].mean *= 1.2;
  all[4].means[0].missing = 1;
  const History history = make_history("sort", all, {});
  ASSERT_EQ(history.series[0].alarms.size(), 1U);
  EXPECT_EQ(history.series[0].alarms[0].at, 12U);
  EXPECT_TRUE(history.series[0].changes[0].stands);
}

// Three known points after the change are too few to leave out the fourth.
TEST(History, AnUnknownPointInAShortPartLeavesTheChangeOpen) {
  std::vector<Experiment> all = step(1);
  for (std::size_t i = 12; i < 16; ++i) all[i].means[0].mean *= 1.2;
  all[13].means[0].missing = 1;
  const History history = make_history("sort", all, {});
  ASSERT_EQ(history.series[0].changes.size(), 1U);
  EXPECT_FALSE(history.series[0].changes[0].stands);
}

TEST(History, AShortSeriesIsShownAndNotTested) {
  std::vector<Experiment> all = step(2);
  all.erase(all.begin() + 11, all.end());
  all.erase(all.begin(), all.begin() + 6);
  ASSERT_EQ(all.size(), 5U);
  const History history = make_history("sort", all, {});
  EXPECT_FALSE(history.series[0].tested);
  EXPECT_TRUE(history.series[0].changes.empty());
}

TEST(History, ManySeriesAndASmallAlphaGetThePermutationsThatFindAChange) {
  const History history = make_history("sort", steps_of(24, 24), {.alpha = 0.001});
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_TRUE(history.series[i].tested);
    ASSERT_EQ(history.series[i].changes.size(), i < 2 ? 1U : 0U);
    if (i < 2) EXPECT_LE(history.series[i].changes[0].p, history.alpha_of_each);
  }
}

TEST(History, WhatNoPermutationsCanFindIsNotCalledTested) {
  const History history = make_history("sort", steps_of(60, 200), {.alpha = 0.001});
  EXPECT_TRUE(history.too_many);
  EXPECT_EQ(history.permutations, 0U);
  EXPECT_TRUE(std::ranges::none_of(history.series, &Series::tested));
}

// Three cells that do not change: any change at all is a false alarm.
TEST(History, FalseAlarmsAreAsRareAsAlphaSaysForAllSeriesTogether) {
  Random random(23);
  constexpr int rounds = 400;
  int alarms = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Experiment> all;
    for (int i = 1; i <= 14; ++i) {
      all.push_back(experiment(i, 0));
      all.back().means.clear();
      for (const char* level : {"a", "b", "c"})
        all.back().means.push_back(
            {.levels = {{"x", level}}, .n = 30, .mean = 1e6 * std::exp(0.01 * normal(random))});
    }
    const History history = make_history("sort", std::move(all), {.seed = random.next()});
    const auto changes = [](const Series& each) { return !each.changes.empty(); };
    alarms += std::ranges::any_of(history.series, changes) ? 1 : 0;
  }
  // 5 % and four standard deviations.
  EXPECT_LE(alarms, 20 + 4 * 4.4);
  EXPECT_GE(alarms, 4) << "a test that finds too little";
}

TEST(History, TheMeansOfABenchmarkHaveTheLevelsOfTheirTreatments) {
  report::Document document{.layouts = {.randomized = 3, .random_code = 3}};
  document.analysis.spec.treatments = {"opt", "heap"};
  document.analysis.means = {{.subject = "sort", .levels = {"O2", "on"}, .n = 4, .mean = 2},
                             {.subject = "sort", .levels = {"O3", "on"}, .n = 4, .mean = NAN},
                             {.subject = "zip", .levels = {"O2", "on"}, .n = 4, .mean = 3}};
  document.analysis.means[0].low = 1;
  document.analysis.means[0].high = INFINITY;
  document.analysis.means[0].lost = 2;
  document.analysis.means[0].loss_low = 1.5;
  document.analysis.means[0].loss_interval_low = 1.25;
  document.analysis.means[0].loss_interval_high = INFINITY;
  const Experiment found = experiment_in(document, "sort");
  ASSERT_EQ(found.means.size(), 1U) << "a number that is not finite is no mean";
  EXPECT_EQ(found.means[0].levels, (Levels{{"heap", "on"}, {"opt", "O2"}}));
  EXPECT_EQ(found.means[0].low, 1);
  EXPECT_EQ(found.means[0].high, std::nullopt);
  EXPECT_EQ(found.means[0].missing, 2U);
  EXPECT_EQ(found.means[0].loss_low, 1.5);
  EXPECT_EQ(found.means[0].loss_high, std::nullopt);
  EXPECT_EQ(found.means[0].loss_interval_low, 1.25);
  EXPECT_EQ(found.means[0].loss_interval_high, std::nullopt);
  EXPECT_THAT(found.others, ElementsAre("zip"));
  EXPECT_TRUE(found.all_moved);
  document.layouts.random_code = 0;  // only the heap was random
  EXPECT_FALSE(experiment_in(document, "sort").all_moved);
  document.layouts.random_code = document.layouts.randomized;
  document.layouts.without_runtime = 1;
  EXPECT_FALSE(experiment_in(document, "sort").all_moved);
}

TEST(History, OnlyASizeWithVerdictsIsAFact) {
  report::Document document;
  document.analysis.spec.response = "code-size";
  EXPECT_TRUE(experiment_in(document, "sort").facts);
  document.analysis.effects = {{.verdict = stats::Verdict::faster}, {}};
  EXPECT_FALSE(experiment_in(document, "sort").facts);
  document.analysis.effects.pop_back();
  EXPECT_TRUE(experiment_in(document, "sort").facts);
  document.analysis.spec.response = "wall";
  EXPECT_FALSE(experiment_in(document, "sort").facts);
}

}  // namespace
}  // namespace stab::results::history
