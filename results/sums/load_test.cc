// SPDX-License-Identifier: MIT
#include "results/sums/load.h"

#include <gtest/gtest.h>

namespace stab::results {
namespace {

constexpr std::int64_t ms = 1'000'000;

counters::Reading reading(const std::string& name, std::int64_t value) {
  return counters::counted(name, "", value);
}

store::Trial trial(std::int64_t wall_ms, std::int64_t cpu_ms, std::int64_t switches = 1) {
  store::Trial made;
  made.wall_ns = wall_ms * ms;
  made.user_ns = cpu_ms * ms;
  made.system_ns = 0;
  made.readings = {reading("context-switches-voluntary", switches)};
  return made;
}

TEST(LoadCounter, OfNothingNothingIsKnown) {
  const report::Load load = LoadCounter().result();
  EXPECT_EQ(load.known, 0U);
  EXPECT_FALSE(load.others);
  EXPECT_FALSE(load.stolen);
}

TEST(LoadCounter, SharesAreOfTheTimeOfTheTrialsThatKnowThem) {
  LoadCounter counter;
  store::Trial first = trial(100, 100);
  first.readings.push_back(reading("other-cpus-busy-ns", 50 * ms));
  first.readings.push_back(reading("steal-ns", 10 * ms));
  store::Trial second = trial(300, 300);
  second.readings.push_back(reading("other-cpus-busy-ns", 150 * ms));
  second.readings.push_back(
      {.name = "steal-ns", .unit = "ns", .status = counters::Status::absent, .reason = "none"});
  counter.add(first);
  counter.add(second);
  EXPECT_DOUBLE_EQ(*counter.result().others, 0.5);
  EXPECT_DOUBLE_EQ(*counter.result().stolen, 0.1);
}

// One other CPU that is busy all the time, and trials that are shorter than the kernel's ticks.
TEST(LoadCounter, ShortTrialsDoNotSeeMoreCpusThanThereAre) {
  LoadCounter counter;
  for (int i = 0; i < 100; ++i) {
    store::Trial each = trial(1, 1);
    each.readings.push_back(reading("other-cpus-busy-ns", i % 2 == 0 ? 10 * ms : 0));
    counter.add(each);
  }
  EXPECT_LE(*counter.result().others, 1);
  EXPECT_GE(*counter.result().others, 0.25);  // which is a busy machine
}

TEST(LoadCounter, ATrialThatGotLessThanItsCpuWasKeptWaiting) {
  LoadCounter counter;
  counter.add(trial(100, 99));
  counter.add(trial(100, 80));
  EXPECT_EQ(counter.result().known, 2U);
  EXPECT_EQ(counter.result().kept_waiting, 1U);
}

TEST(LoadCounter, OneThatSleepsOrHasThreadsOrIsVeryShortWasNot) {
  LoadCounter counter;
  counter.add(trial(100, 10, 50));
  EXPECT_EQ(counter.result().known, 0U);
  counter.add(trial(100, 180));
  counter.add(trial(2, 1));
  EXPECT_EQ(counter.result().known, 2U);
  EXPECT_EQ(counter.result().kept_waiting, 0U);
}

TEST(LoadCounter, WithoutATimeNothingIsKnown) {
  LoadCounter counter;
  store::Trial simulated = trial(0, 0);
  simulated.wall_ns.reset();
  counter.add(simulated);
  EXPECT_EQ(counter.result().known, 0U);
}

}  // namespace
}  // namespace stab::results
