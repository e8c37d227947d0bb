// SPDX-License-Identifier: MIT
// Points that are visited: what is counted, and what arrivals do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "causal/preload/testing.h"

namespace stab::causal::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Points, ThoseOfCozAreThereBeforeOurConstructor) {
  Session session({"hot"});
  EXPECT_EQ(session.run("coz").output, "same: 1, other kind: 1\ndone\n");
  EXPECT_EQ(session.counter(0).kind, throughput);
  EXPECT_STREQ(session.counter(0).name, "early");
  EXPECT_EQ(session.counter(0).count, 2);
  EXPECT_EQ(session.counter(1).kind, begin);
  EXPECT_EQ(session.head().counter_count, 2);
}

TEST(Points, OursAreCounted) {
  Session session({"hot"});
  session.run("visit arrive");
  std::map<uint32_t, uint64_t> counts;
  for (uint32_t i = 0; i < session.head().counter_count; ++i)
    counts[session.counter(i).kind] += session.counter(i).count;
  EXPECT_THAT(counts,
              ElementsAre(Pair(throughput, 8), Pair(begin, 10), Pair(end, 10), Pair(arrival, 10)));
}

TEST(Points, LatenciesHaveTheirTimesByTheClocksOfThreads) {
  Session session({"hot"});
  session.head().is_end_to_end = 1;
  session.head().fixed_line = 0;
  session.head().arrival_ns = 20 * ms;
  session.run("hot arrive");
  ASSERT_EQ(session.head().experiments, 1);
  const Experiment& whole = session.experiment(0);
  EXPECT_EQ(whole.owed_ns, 0);
  uint64_t times[2] = {};
  for (uint32_t i = 0; i < whole.visits_count; ++i) {
    const Visits& of = session.visit(i);
    const Counter& counter = session.counter(of.counter);
    if (counter.kind != begin && counter.kind != end) continue;
    EXPECT_EQ(of.has_ns, 1);
    EXPECT_EQ(of.ns_before, 0);
    EXPECT_EQ(counter.begun, 10);
    times[counter.kind - begin] = of.ns_after;
  }
  EXPECT_GT(times[0], 0);
  EXPECT_GE(times[1], times[0]);
}

TEST(Points, ArrivalsMakeTheirThreadRunAhead) {
  Session session({"hot"});
  session.head().arrival_ns = 250000;
  session.run("arrive");
  EXPECT_EQ(session.head().owed_ns, 10 * session.head().arrival_ns);
  EXPECT_EQ(session.head().slept_ns, 0);
  ASSERT_EQ(session.head().arrival_threads, 1);
  EXPECT_EQ(session.head().arrivals[0].gaps, 9);
}

TEST(Points, LinesMayBeSampledPoints) {
  Session session({"hot", "cold"});
  session.counter(0).kind = sampled;
  session.counter(0).line = 1;
  session.head().counter_count = 1;
  session.run("cold");
  EXPECT_EQ(session.counter(0).count, session.samples(1));
  EXPECT_GT(session.counter(0).count, 0);
}

}  // namespace
}  // namespace stab::causal::testing
