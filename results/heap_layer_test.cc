// SPDX-License-Identifier: MIT
#include "results/heap_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "counters/readings.h"
#include "plan/reading/testing.h"

namespace stab::results {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

constexpr double ms = 1e6;

// Pairs whose runs with the layer take so many times what those without take; the times vary by 1 %.
HeapPairs pairs_of(double cpu, double ratio, std::size_t count = 8, HeapRun with = {}) {
  HeapPairs pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const double noise = 1 + 0.01 * std::sin(7.0 * static_cast<double>(i));
    pairs.without.push_back({.cpu_ns = cpu * noise, .faults = 10'000, .peak = 50e6});
    with.cpu_ns = cpu * ratio * (1 + 0.01 * std::cos(5.0 * static_cast<double>(i) + 100 * ratio));
    pairs.with.push_back(with);
  }
  return pairs;
}
const HeapRun usual{.faults = 10'050, .peak = 50.5e6};

// Pairs whose ratios of CPU time are these, of a program that takes 100 ms.
HeapPairs pairs_with(const std::vector<double>& ratios) {
  HeapPairs pairs = pairs_of(100 * ms, 1, ratios.size(), usual);
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    // Loading takes 0.4 ms in each.
    pairs.with[i].cpu_ns = ratios[i] * (pairs.without[i].cpu_ns + 0.4 * ms);
  }
  return pairs;
}

std::string changed(const HeapPairs& pairs) {
  return what_changes("a", pairs).clause;
}

TEST(LayerCheck, CountsMayDifferByWhatTheLayerItselfTakes) {
  EXPECT_EQ(changed(pairs_of(100 * ms, 1.02, 8, usual)), "");
  EXPECT_THAT(changed(pairs_of(100 * ms, 1, 8, {.faults = 10'700, .peak = 50e6})),
              HasSubstr("a has 10700 page faults with the heap layer, 10000 without"));
  EXPECT_THAT(changed(pairs_of(100 * ms, 1, 8, {.faults = 9'300, .peak = 50e6})),
              HasSubstr("9300 page faults"))
      << "fewer are a change, too";
  EXPECT_THAT(changed(pairs_of(100 * ms, 1, 8, {.faults = 10'000, .peak = 54e6})),
              HasSubstr("54.0 MB of memory with the heap layer, 50.0 MB without"));
  EXPECT_EQ(changed(pairs_of(100 * ms, 1, 8, {.faults = 10'000})), "")
      << "a peak that is not known is not compared";
}

TEST(LayerCheck, TimeMayDifferByATenth) {
  EXPECT_EQ(changed(pairs_of(100 * ms, 1.08, 8, usual)), "");
  EXPECT_THAT(changed(pairs_of(100 * ms, 1.15, 8, usual)),
              MatchesRegex("a takes 1.1[3-6] times as much CPU time with the heap layer \\(95 % "
                           "interval 1.1[0-9]* to 1.1[0-9]*, 8 pairs of runs\\)"));
  EXPECT_THAT(changed(pairs_of(100 * ms, 0.8, 8, usual)), HasSubstr("a takes 0.79"))
      << "faster is a change, too";
  EXPECT_EQ(changed(pairs_of(1 * ms, 2, 8, usual)), "") << "loading takes that long";
  EXPECT_TRUE(what_changes("a", pairs_of(100 * ms, 1.2, 8, usual)).is_time);
  EXPECT_FALSE(what_changes("a", pairs_of(100 * ms, 1, 8, {.faults = 10'700})).is_time);
}

TEST(LayerCheck, NoiseIsNoChangeOfTime) {
  // The fastest run with the layer takes 0.8 times as long as the fastest one without.
  const std::vector<double> noisy = {0.78, 1.25, 1.02, 0.9, 1.2, 0.95, 1.3, 0.85};
  EXPECT_EQ(changed(pairs_with(noisy)), "");
  std::vector<double> slower;  // by 15 %, which is less than the noise
  for (const double ratio : noisy) slower.push_back(1.15 * ratio);
  EXPECT_EQ(changed(pairs_with(slower)), "");
  // A change that is this large counts although the interval includes "no change" ...
  EXPECT_THAT(changed(pairs_with({0.8, 1.4, 1.5, 2.2})),
              HasSubstr("times as much CPU time with the heap layer (95 % interval 0."));
  // ... unless it comes from a single run.
  EXPECT_EQ(changed(pairs_with({1.01, 0.98, 3.5, 1.02})), "");
}

TEST(LayerCheck, FewPairsShowOnlyLargeChangesOfTime) {
  for (const std::size_t pairs : {1U, 2U, 3U}) {
    EXPECT_EQ(changed(pairs_of(100 * ms, 1.2, pairs, usual)), "") << pairs;
    EXPECT_EQ(changed(pairs_of(100 * ms, 0.8, pairs, usual)), "") << pairs;
    EXPECT_NE(changed(pairs_of(100 * ms, 0.7, pairs, usual)), "") << pairs;
  }
  EXPECT_THAT(changed(pairs_of(100 * ms, 1.4, 1, usual)),
              EndsWith("times as much CPU time with the heap layer (1 pair of runs)"));
  EXPECT_THAT(changed(pairs_of(100 * ms, 1.4, 3, usual)), EndsWith(" (3 pairs of runs)"));
  EXPECT_EQ(changed({}), "");
  // If all ratios are equal, there is no interval.
  EXPECT_EQ(changed(pairs_with({1.2, 1.2, 1.2, 1.2, 1.2})), "");
  EXPECT_NE(changed(pairs_with({1.3, 1.3, 1.3, 1.3, 1.3})), "");
}

TEST(LayerCheck, WhatCostsOneVersionMoreThanTheOtherWouldBeInTheVerdict) {
  const HeapPairs cheap = pairs_of(100 * ms, 1.01, 8, usual);
  const HeapPairs dear = pairs_of(100 * ms, 1.06, 8, usual);
  EXPECT_EQ(what_costs_more("a", cheap, "b", cheap), "");
  EXPECT_THAT(what_costs_more("a", cheap, "b", dear),
              ContainsRegex("the heap layer increases the CPU time by [0-9.]+ percentage points "
                            "more in b than in a"));
  EXPECT_THAT(what_costs_more("a", dear, "b", cheap),
              HasSubstr("percentage points less in b than in a"));
  EXPECT_EQ(what_costs_more("a", pairs_of(100 * ms, 1.01, 2), "b", pairs_of(100 * ms, 1.06, 2)),
            "");
  EXPECT_EQ(what_costs_more("a", pairs_of(10 * ms, 1.04), "b", pairs_of(10 * ms, 1.1)), "")
      << "that is less than a millisecond";
  const double loaded = (2 * ms + 0.4 * ms) / (2 * ms);
  EXPECT_EQ(what_costs_more("a", pairs_of(100 * ms, 1.004), "b", pairs_of(2 * ms, loaded)), "")
      << "loading the layer is a larger part of a short program";
}

TEST(LayerCheck, TheCostIsTheMeanOfTheRatiosWithItsInterval) {
  const auto cost = heap_cost({pairs_of(100 * ms, 1.05), pairs_of(10 * ms, 1.05)});
  ASSERT_TRUE(cost && cost->low && cost->high);
  EXPECT_NEAR(cost->change, 0.05, 0.01);
  EXPECT_LT(*cost->low, 0.05);
  EXPECT_GT(*cost->high, 0.05);
  EXPECT_EQ(cost->pairs, 16U);
  EXPECT_THAT(said(*cost), EndsWith(" %, 16 pairs of runs"));
  const auto one = heap_cost({pairs_of(100 * ms, 1.05, 1)});
  ASSERT_TRUE(one);
  EXPECT_FALSE(one->low);
  EXPECT_THAT(said(*one), EndsWith(" % of CPU time; 1 pair of runs"));
  EXPECT_FALSE(heap_cost({pairs_of(100 * ms, 1.05, 3)})->low);
  EXPECT_TRUE(heap_cost({pairs_of(100 * ms, 1.05, 4)})->low);
  EXPECT_FALSE(heap_cost({}));
}

TEST(LayerCheck, AChangeOfOneVersionOrBetweenTwoIsFound) {
  const HeapPairs cheap = pairs_of(100 * ms, 1.01, 8, usual);
  const HeapPairs dear = pairs_of(100 * ms, 1.06, 8, usual);
  const HeapPairs slow = pairs_of(100 * ms, 1.5, 8, usual);
  EXPECT_EQ(first_change({"a", "b"}, {cheap, cheap}).clause, "");
  EXPECT_THAT(first_change({"a", "b"}, {cheap, slow}).clause, HasSubstr("b takes 1."));
  EXPECT_TRUE(first_change({"a", "b"}, {cheap, slow}).is_time);
  EXPECT_THAT(first_change({"a", "b"}, {cheap, dear}).clause, EndsWith("more in b than in a"));
  EXPECT_FALSE(first_change({"a", "b"}, {cheap, dear}).is_time);
}

TEST(LayerCheck, ARunSaysWhatItUsedAndWhyItSpeaksAgainstTheLayer) {
  store::Trial run{
      .status = store::TrialStatus::ok, .user_ns = 2, .system_ns = 3, .max_rss_bytes = 4096};
  run.readings = {counters::counted("page-faults-minor", "", std::int64_t{7})};
  EXPECT_EQ(heap_run(run).cpu_ns, 5);
  EXPECT_EQ(heap_run(run).faults, 7);
  EXPECT_EQ(heap_run(run).peak, 4096);
  EXPECT_THAT(why_no_layer("a", run, true), HasSubstr("a does not load the heap layer: it may be"));
  run.layout.note = "the program has its own malloc";
  EXPECT_EQ(why_no_layer("a", run, true), "a has no random heap: the program has its own malloc");
  run.status = store::TrialStatus::wrong_exit;
  run.reason = "ended with exit code 9, not 0";
  EXPECT_EQ(why_no_layer("a", run, true),
            "a does not run with the heap layer: ended with exit code 9, not 0");
  run.status = store::TrialStatus::not_randomized;
  EXPECT_EQ(why_no_layer("a", run, false), "a does not run: ended with exit code 9, not 0")
      << "the plan asks for another random layout";
}

TEST(StoredLayer, IsRecalledForEachBenchmarkThatThePlanHas) {
  const std::string text = plan::smallest + "[[benchmark]]\nname = 'c'\nrun = ['/bin/true']\n";
  store::Experiment experiment;
  experiment.heap_layer =
      heap_column({{.benchmark = "gone", .drawn = true},
                   {.benchmark = "b",
                    .drawn = true,
                    .cost = report::HeapCost{.change = 0.004, .low = -0.002, .pairs = 12}},
                   {.benchmark = "b", .why_not = "the first decision counts"},
                   {.benchmark = "c", .why_not = "c says \"\x1b[2J\"\n" + std::string(1000, 'x')}});

  plan::Plan plan = plan::good_plan(text);
  EXPECT_THAT(recall_heap(experiment, plan).value(), SizeIs(0)) << "an earlier version's plan";
  EXPECT_FALSE(plan.benchmarks[0].has_layer);
  plan = plan::good_plan(text + "[by_default]\nheap = \"layer\"\n");
  const auto known = recall_heap(experiment, plan).value();
  ASSERT_THAT(known, SizeIs(2));
  EXPECT_TRUE(known[0].drawn);
  ASSERT_TRUE(known[0].cost);
  EXPECT_EQ(known[0].cost->change, 0.004);
  EXPECT_EQ(known[0].cost->low, -0.002);
  EXPECT_FALSE(known[0].cost->high);
  EXPECT_EQ(known[0].cost->pairs, 12U);
  EXPECT_THAT(known[1].why_not, MatchesRegex("c says \" .2J\" x+\\.\\.\\."));
  EXPECT_TRUE(plan.benchmarks[0].has_layer);
  EXPECT_FALSE(plan.benchmarks[1].has_layer);
  // Without a decision, trials have no layer, whatever another experiment's had.
  experiment.heap_layer = "";
  EXPECT_THAT(recall_heap(experiment, plan).value(), SizeIs(0));
  EXPECT_FALSE(plan.benchmarks[0].has_layer);
}

TEST(StoredLayer, IsAsTheDocumentSays) {
  EXPECT_EQ(heap_column({}), "");
  EXPECT_EQ(heap_column({{.benchmark = "sort", .why_not = "sort crashes"}}),
            R"([{"benchmark":"sort","drawn":false,"why_not":"sort crashes","changes":"",)"
            R"("cost":null}])");
}

TEST(StoredLayer, OfAnotherFormIsRefused) {
  const auto text = [](const std::string& benchmark, const std::string& why) {
    return R"([{"benchmark":")" + benchmark + R"(","drawn":true,"why_not":")" + why +
           R"(","changes":"","cost":null}])";
  };
  EXPECT_TRUE(heap_layers(text("b", "")));
  EXPECT_TRUE(heap_layers(""));
  plan::Plan plan = plan::good_plan(plan::smallest + "[by_default]\nheap = \"layer\"\n");
  for (const std::string& wrong :
       {text("", ""), text("a b", ""), text("b", "\\u001b[2J"), text("b", "\\n"), std::string("{}"),
        std::string("[{}]"), std::string("x")}) {
    EXPECT_FALSE(heap_layers(wrong)) << wrong;
    EXPECT_FALSE(recall_heap({.heap_layer = wrong}, plan)) << wrong;
  }
}

TEST(StoredLayer, HasWordsForPeople) {
  EXPECT_EQ(
      heap_words(
          {.benchmark = "b", .drawn = true, .cost = report::HeapCost{.change = 0.004, .pairs = 1}}),
      "b: heap blocks are random (costs +0.4 % of CPU time; 1 pair of runs)");
  EXPECT_EQ(heap_words({.benchmark = "b", .why_not = "b crashes"}),
            "b: heap blocks are not random: b crashes");
}

}  // namespace
}  // namespace stab::results
