// SPDX-License-Identifier: MIT
#include "stabd/results/sums/counters.h"

#include <gmock/gmock.h>

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
  CounterCounter counter(plan_with({{"cycles", "instructions"}, {"cs"}}));
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
  EXPECT_EQ(result[0].least_coverage, 0.4);
  EXPECT_EQ(result[0].median, 20);
  EXPECT_EQ(result[1].name, "instructions");
  EXPECT_EQ(result[1].absent, 2U);
  EXPECT_EQ(result[1].reason, "the trial has no such reading");
  EXPECT_EQ(result[2].absent, 2U);
  EXPECT_EQ(result[2].reason, "none was free");
  EXPECT_EQ(result[2].median, 7);
}

TEST(CounterCounter, APlanThatCountsNothingHasNone) {
  CounterCounter counter(plan_with({}));
  counter.add({counters::counted("cycles", "", 10)});
  EXPECT_TRUE(counter.result().empty());
}

}  // namespace
}  // namespace stab::results
