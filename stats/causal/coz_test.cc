// SPDX-License-Identifier: MIT
#include "stats/causal/coz.h"

#include <gmock/gmock.h>

#include <string>

#include "base/random.h"
#include "stats/causal/simulate.h"

namespace stab::stats::causal {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view small =
    "startup\ttime=17\n"
    "experiment\tselected=a.c:3\tspeedup=0.25\tduration=500\tselected-samples=7\n"
    "throughput-point\tname=p\tdelta=12\n"
    "latency-point\tname=q\tarrivals=5\tdepartures=4\tdifference=2\n"
    "samples\tlocation=a.c:3\tcount=9\n"
    "samples\tlocation=b.c:1\tcount=1\n"
    "samples\tlocation=a.c:3\tcount=20\n"
    "something-new\tx=1\n"
    "runtime\ttime=1000\n";

TEST(Coz, IsReadRunByRun) {
  Profile profile;
  const auto read = read_coz(std::string(small) + std::string(small), profile);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(profile.lines, ::testing::ElementsAre("a.c:3", "b.c:1"));
  ASSERT_EQ(profile.points.size(), 2U);
  EXPECT_EQ(profile.points[1].kind, PointKind::latency);
  ASSERT_EQ(profile.runs.size(), 2U);
  const causal::Run& run = profile.runs[1];
  EXPECT_EQ(run.effective_ns, 1000U);
  ASSERT_EQ(run.samples.size(), 2U);
  EXPECT_EQ(run.samples[0].count, 20U) << "the last one holds";
  ASSERT_EQ(run.experiments.size(), 1U);
  EXPECT_EQ(run.experiments[0].speedup, 250U);
  EXPECT_EQ(run.experiments[0].visits[0].count, 12U);
  EXPECT_EQ(run.experiments[0].visits[1].departures, 4U);
  EXPECT_EQ(run.experiments[0].visits[1].inside, 2);
}

TEST(Coz, WhatIsWrittenIsReadAgain) {
  const Profile profile = Simulation(1).make({.lines = {{.gain = [](double x) { return x / 2; }}}});
  Profile again;
  ASSERT_TRUE(read_coz(as_coz(profile), again));
  EXPECT_EQ(again, profile);
}

TEST(Coz, AnArrivalPointIsNoProgressPointOfTheSameName) {
  Profile profile{.lines = {"a.c:3"},
                  .points = {{.name = "request", .is_arrival = true}, {.name = "request"}}};
  profile.runs.push_back(
      {.effective_ns = 1000,
       .experiments = {{.effective_ns = 500,
                        .arrivals = 9,
                        .visits = {{.point = 0, .count = 9}, {.point = 1, .count = 7}}}}});
  Profile again;
  ASSERT_TRUE(read_coz(as_coz(profile), again));
  ASSERT_EQ(again.points.size(), 2U);
  EXPECT_EQ(again.points[0].name, "request (arrivals)");
  EXPECT_EQ(again.points[1].name, "request");
  ASSERT_EQ(again.runs.size(), 1U);
  EXPECT_EQ(again.runs[0].experiments.at(0).visits, profile.runs[0].experiments[0].visits);
  EXPECT_EQ(as_coz(again), as_coz(profile));
}

TEST(Coz, TheOrderOfWhatIsWrittenDoesNotDependOnWhereNamesStoodFirst) {
  const std::string experiment =
      "experiment\tselected=b.c:1\tspeedup=0\tduration=500\tselected-samples=7\n";
  Profile profile;
  ASSERT_TRUE(
      read_coz("startup\ttime=1\nsamples\tlocation=a.c:1\tcount=9\n"
               "samples\tlocation=b.c:1\tcount=8\n" +
                   experiment,
               profile));
  Profile again;
  ASSERT_TRUE(read_coz(as_coz(profile), again));
  EXPECT_EQ(as_coz(again), as_coz(profile));
}

TEST(Coz, ErrorsNameTheLineAndLeaveTheProfileAlone) {
  const auto error = [](const std::string& text) {
    Profile profile{.lines = {"x:1"}};
    const auto read = read_coz(text, profile);
    EXPECT_EQ(profile, Profile{.lines = {"x:1"}});
    return read ? "none" : read.error().message;
  };
  const std::string begin = "startup\ttime=1\n";
  EXPECT_EQ(error(""), "it is empty");
  EXPECT_THAT(error("hello\n"), HasSubstr("line 1: 'hello' is not a record"));
  EXPECT_THAT(error(begin + "experiment\tselected=a:1\tspeedup=2\tduration=1\n"),
              HasSubstr("line 2: speedup=2 is not between 0 and 1"));
  EXPECT_THAT(error(begin + "experiment\tselected=a:1\tspeedup=nan\tduration=1\n"),
              HasSubstr("is not a number"));
  EXPECT_THAT(error(begin + "experiment\tselected=a:1\tspeedup=0\tduration=-x\n"),
              HasSubstr("duration=-x is not a whole number"));
  EXPECT_THAT(error(begin + "experiment\tspeedup=0\tduration=1\n"),
              HasSubstr("has no field 'selected='"));
  EXPECT_THAT(error(begin + "throughput-point\tname=p\tdelta=1\n"),
              HasSubstr("before the first experiment"));
}

// As -500 and as 2^64 - 500.
TEST(Coz, ExperimentsWithDurationsBelow0AreLeftOutWithTheirPoints) {
  for (const char* below : {"-500", "18446744073709551116"}) {
    const std::string bad = std::string("experiment\tselected=b.c:9\tspeedup=1\tduration=") +
                            below + "\tselected-samples=7\nthroughput-point\tname=p\tdelta=1000\n";
    Profile profile;
    ASSERT_TRUE(read_coz(bad + std::string(small) + bad + std::string(small), profile)) << below;
    EXPECT_EQ(profile.left_out, 2U);
    EXPECT_THAT(profile.lines, ::testing::ElementsAre("a.c:3", "b.c:1"));
    ASSERT_EQ(profile.runs.size(), 3U) << "one has lost its beginning";
    EXPECT_TRUE(profile.runs[0].experiments.empty());
    for (const std::size_t run : {1U, 2U}) {
      ASSERT_EQ(profile.runs[run].experiments.size(), 1U);
      ASSERT_EQ(profile.runs[run].experiments[0].visits.size(), 2U);
      EXPECT_EQ(profile.runs[run].experiments[0].visits[0].count, 12U);
    }
    Profile alone;
    const auto refused = read_coz(bad + bad, alone);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "the profile has no usable experiment: the duration is below 0 in 2 experiments");
    EXPECT_EQ(alone, Profile{});
  }
}

TEST(Coz, BytesThatWereChangedAreReadOrRefused) {
  Random random(7);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text(small);
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    Profile profile;
    if (!read_coz(text, profile)) {
      ++refused;
      continue;
    }
    for (const causal::Run& run : profile.runs)
      for (const Experiment& each : run.experiments) ASSERT_LT(each.line, profile.lines.size());
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace stab::stats::causal
