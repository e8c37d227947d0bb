// SPDX-License-Identifier: MIT
#include "stats/causal/run_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace stab::stats::causal {
namespace {

using testing::ElementsAre;

Profile a_run() {
  return {
      .lines = {"src/a.c:3", "b \"q\".c:4"},
      .points = {{.name = "item"}, {.name = "wait", .kind = PointKind::latency}},
      .runs = {
          {.started_ns = 7,
           .effective_ns = 5'000'000'000,
           .experiments = {{.line = 1,
                            .speedup = 250,
                            .effective_ns = 500'000'000,
                            .paused_ns = 12,
                            .line_samples = 9,
                            .visits = {{.point = 0, .count = 40},
                                       {.point = 1, .count = 4, .departures = 3, .inside = 1.5}}},
                           {.line = 0, .effective_ns = 1}},
           .samples = {{.line = 1, .count = 451}, {.line = 0, .count = 2}}}}};
}

TEST(RunText, IsReadBackAsItWas) {
  Profile read;
  ASSERT_TRUE(read_run(run_text(a_run()), read));
  EXPECT_EQ(read, a_run());
}

TEST(RunText, HowItWasSampledIsReadBackOrNotKnown) {
  Profile made = a_run();
  made.runs[0].sampling = {.samples = 9,
                           .outside = 2,
                           .unwound_short = 1,
                           .sampled_ns = 7,
                           .lost = 3,
                           .is_by_timer = true};
  Profile read;
  ASSERT_TRUE(read_run(run_text(made), read));
  EXPECT_EQ(read, made);
}

TEST(RunText, ArrivalsAreTheVisitsOfTheirPoints) {
  Profile made = a_run();
  made.points.push_back({.name = "item", .is_arrival = true});
  made.runs[0].experiments[0].visits.push_back({.point = 2, .count = 7});
  made.runs[0].experiments[0].arrivals = 7;
  Profile read;
  ASSERT_TRUE(read_run(run_text(made), read));
  EXPECT_EQ(read, made);
}

TEST(RunText, RunsShareLinesAndPointsByTheirNames) {
  Profile other = a_run();
  std::swap(other.lines[0], other.lines[1]);
  other.lines.emplace_back("c.c:1");
  Profile read;
  ASSERT_TRUE(read_run(run_text(a_run()), read));
  ASSERT_TRUE(read_run(run_text(other), read));
  EXPECT_THAT(read.lines, ElementsAre("src/a.c:3", "b \"q\".c:4", "c.c:1"));
  EXPECT_EQ(read.points, a_run().points);
  ASSERT_EQ(read.runs.size(), 2U);
  EXPECT_EQ(read.runs[1].experiments[0].line, 0U);
  EXPECT_EQ(read.runs[1].samples[0].line, 0U);
}

TEST(RunText, WhatIsNotAsItMustBeChangesNothing) {
  const std::string whole = run_text(a_run());
  Profile known;
  ASSERT_TRUE(read_run(whole, known));
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    EXPECT_FALSE(read_run(text, known)) << text;
    EXPECT_EQ(known.runs.size(), 1U);
  };
  refused("[1,250,", "[2,250,");
  refused("[1,250,", "[-1,250,");
  refused("[1,250,", "[1,1001,");
  refused("[1,250,500000000", "[1,250,1152921504606846976");
  refused("[1,250,", "[\"1\",250,");
  refused("[1,250,", "[250,");
  refused("[1,4,3,1.5]", "[1,4,3,-1]");
  refused("[1,4,3,1.5]", "[1,4]");
  refused("[0,40]", "[0,40,1,1]");
  refused("[0,40]", "[2,40]");
  refused("\"latency\"", "\"else\"");
  refused("\"wait\"", "7");
  refused("\"samples\":", "\"other\":");
  refused("[0,2]]", "[0]]");
  refused("{", "[");
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    ASSERT_FALSE(read_run(whole.substr(0, cut), known)) << cut;
}

}  // namespace
}  // namespace stab::stats::causal
