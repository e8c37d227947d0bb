// SPDX-License-Identifier: MIT
#include "results/sums/counters.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace stab::results {
namespace {

using counters::Reading;
using counters::Status;

plan::Plan plan_with(std::vector<std::vector<std::string>> counters) {
  plan::Plan plan;
  plan.counters = std::move(counters);
  return plan;
}

TEST(CounterCounter, TellsWhatWasCountedFromWhatWasNot) {
  CounterCounter counter(plan::counter_names(plan_with({{"cycles", "instructions"}, {"cs"}})),
                         Missing::absent);
  counter.add({counters::counted("cycles", "", 10), counters::counted("cs", "", 7),
               counters::counted("instructions", "", 1)});
  counter.add({{.name = "cycles", .status = Status::scaled, .value = 30.4, .coverage = 0.6},
               counters::absent("cs", "", "none was free")});
  // Too short a time to be compared.
  counter.add({{.name = "cycles", .status = Status::scaled, .value = 1e6, .coverage = 0.4},
               counters::absent("cs", "", "another reason")});
  const auto result = counter.result();
  ASSERT_EQ(result.size(), 3U);
  EXPECT_EQ(result[0].name, "cycles");
  EXPECT_EQ(result[0].counted, 1U);
  EXPECT_EQ(result[0].scaled, 2U);
  EXPECT_EQ(result[0].left_out, 1U);
  EXPECT_EQ(result[0].least_coverage, 0.4);
  EXPECT_DOUBLE_EQ(result[0].median.value(), 20.2);
  EXPECT_EQ(result[1].name, "instructions");
  EXPECT_EQ(result[1].absent, 2U);
  EXPECT_EQ(result[1].reason, "the trial has no such reading");
  EXPECT_EQ(result[2].absent, 2U);
  EXPECT_EQ(result[2].reason, "none was free");
  EXPECT_EQ(result[2].median, 7);
}

TEST(CounterCounter, APlanThatCountsNothingHasNone) {
  CounterCounter counter(plan::counter_names(plan_with({})), Missing::absent);
  counter.add({counters::counted("cycles", "", 10)});
  EXPECT_TRUE(counter.result().empty());
}

TEST(CounterCounter, AMeasureOfOtherBenchmarksIsNotMissing) {
  plan::Plan plan;
  plan.outputs = {{.name = "ops", .unit = "1/s"}};
  plan.derived = {{.name = "cost", .formula = "wall / ops"}};
  CounterCounter counter(measure_names(plan), Missing::not_meant);
  counter.add({counters::counted("ops", "1/s", 2.5), counters::counted("cost", "", 4.0)});
  counter.add({});
  counter.add({counters::absent("ops", "1/s", "stdout: nothing matches"),
               counters::absent("cost", "", "ops is absent: stdout: nothing matches")});
  const auto result = counter.result();
  ASSERT_EQ(result.size(), 2U);
  EXPECT_EQ(result[0].unit, "1/s");
  EXPECT_EQ(result[0].counted, 1U);
  EXPECT_EQ(result[0].absent, 1U);
  EXPECT_EQ(result[0].median, 2.5);
  EXPECT_EQ(result[1].name, "cost");
  EXPECT_EQ(result[1].reason, "ops is absent: stdout: nothing matches");
}

TEST(CounterCounter, RegionsCountFromTheTrialThatHasThemOn) {
  CounterCounter counter({"ops"}, Missing::not_meant);
  const auto add = [&](const std::vector<Reading>& readings) {
    counter.look_for_regions(readings);
    counter.add(readings);
  };
  add({counters::counted("ops", "", 1), counters::counted("steal-ns", "ns", 1)});
  add({counters::counted("region-parse-ns", "ns", 10)});
  add({counters::counted("region-parse-ns", "ns", 30),
       counters::absent("region-emit-ns", "ns", "it was not entered")});
  const auto result = counter.result();
  ASSERT_EQ(result.size(), 3U);
  EXPECT_EQ(result[1].name, "region-parse-ns");
  EXPECT_EQ(result[1].unit, "ns");
  EXPECT_EQ(result[1].counted, 2U);
  EXPECT_EQ(result[1].median, 20);
  EXPECT_EQ(result[2].absent, 1U);

  CounterCounter hostile({}, Missing::not_meant);
  for (int trial = 0; trial < 1000; ++trial)
    hostile.look_for_regions(
        {counters::counted("region-a" + std::to_string(trial) + "-ns", "ns", 1)});
  EXPECT_EQ(hostile.result().size(), 128U);
}

}  // namespace
}  // namespace stab::results
