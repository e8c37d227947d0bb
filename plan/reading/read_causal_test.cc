// SPDX-License-Identifier: MIT
// Plans whose trials are runs of a causal profile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "design/model.h"
#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kind = "[design]\nkind = 'causal'\n";

// What is wrong with the smallest causal plan and these tables.
std::string more(const std::string& text) {
  return problems_of(smallest + kind + text);
}

TEST(ReadPlanCausal, TheOptionsOfTheProfilerAreKeys) {
  const Plan plan = good_plan(smallest + kind +
                              "[causal]\nscope = ['*/src/*', '*.h']\nbinary = ['${OUT}']\n"
                              "line = 'a.c:3'\nprogress = ['b.c:4']\nexperiment = '20ms'\n"
                              "sample_period = '2ms'\nend_to_end = true\nspeedup = '25%'\n"
                              "arrival_speedup = '250us'\n[analysis]\nalpha = 0.1\n");
  EXPECT_TRUE(plan.is_causal());
  EXPECT_THAT(plan.causal.scope, ElementsAre("*/src/*", "*.h"));
  EXPECT_THAT(plan.causal.binaries, ElementsAre("${OUT}"));
  EXPECT_THAT(plan.causal.progress, ElementsAre("b.c:4"));
  EXPECT_EQ(plan.causal.line, "a.c:3");
  EXPECT_EQ(plan.causal.experiment, 20ms);
  EXPECT_EQ(plan.causal.sample_period, 2ms);
  EXPECT_EQ(plan.causal.arrival_speedup, 250us);
  EXPECT_EQ(plan.causal.speedup, 0.25);
  EXPECT_TRUE(plan.causal.end_to_end);
  EXPECT_EQ(plan.analysis.alpha, 0.1);
}

TEST(ReadPlanCausal, ItNeedsNoTableOfItsOwn) {
  const Plan plan = good_plan(smallest + kind);
  EXPECT_EQ(plan.causal.experiment, 50ms);
  EXPECT_EQ(plan.causal.sample_period, 1ms);
  EXPECT_FALSE(plan.causal.end_to_end);
  EXPECT_FALSE(good_plan(smallest).is_causal());
}

TEST(ReadPlanCausal, LevelsMakeCellsAndNothingIsModelled) {
  const Plan plan = good_plan(with_build + kind +
                              "[factor.opt]\nlevels = { O1 = { CFLAGS = '-O1' }, O2 = { CFLAGS = "
                              "'-O2' } }\n[factor.link_order]\nrandom = { per = 'block' }\n");
  EXPECT_EQ(expand(plan).cells.size(), 2U);
  EXPECT_TRUE(models(plan, expand(plan)).empty());
}

TEST(ReadPlanCausal, ArrivalsMayBeFasterBySeveralTimes) {
  const std::string factor = "[factor.arrival_speedup]\nlevels = ['0us', '250us', '1ms']\n";
  const Plan plan = good_plan(smallest + kind + factor);
  const Expansion expansion = expand(plan);
  EXPECT_EQ(expansion.cells.size(), 3U);
  std::set<std::chrono::nanoseconds> times;
  for (const Trial& trial : expansion.trials) times.insert(resolve(plan, trial).arrival_speedup);
  EXPECT_THAT(times, ElementsAre(0us, 250us, 1ms));
  EXPECT_THAT(problems_of(smallest + factor),
              HasSubstr("'factor.arrival_speedup' needs design.kind = \"causal\""));
  EXPECT_THAT(more(factor + "[causal]\narrival_speedup = '1us'\n"),
              HasSubstr("remove one of them"));
  EXPECT_THAT(more("[factor.arrival_speedup]\nlevels = ['0us', '11s']\n"),
              HasSubstr("a time from \"0ns\" to \"10s\", for example \"250us\""));
  EXPECT_THAT(more("[factor.arrival_speedup]\nlevels = ['1ms', '1000us']\n"),
              HasSubstr("has the level 1000us twice"));
  EXPECT_THAT(more("[factor.arrival_speedup]\nrandom = { per = 'block' }\n"),
              HasSubstr("is not possible: use levels"));
}

TEST(ReadPlanCausal, TheTableIsOfThisKindAlone) {
  EXPECT_EQ(problems_of(smallest + "[causal]\nend_to_end = true\n"),
            "p:6:2: 'causal' needs design.kind = \"causal\": set this kind, or remove the table\n");
}

TEST(ReadPlanCausal, TimesAndSpeedupsHaveTheBoundsOfTheCommand) {
  EXPECT_THAT(more("[causal]\nexperiment = '9ms'\n"),
              HasSubstr("'causal.experiment' must be a time from 10 ms to 10 min 0 s"));
  EXPECT_THAT(more("[causal]\nsample_period = '99us'\n"),
              HasSubstr("'causal.sample_period' must be a time from 100 us to 1 s"));
  EXPECT_THAT(more("[causal]\narrival_speedup = '11s'\n"), HasSubstr("must be a time from 1 ns"));
  EXPECT_THAT(more("[causal]\nspeedup = '25%'\nend_to_end = true\n"),
              HasSubstr("'causal.speedup' needs 'causal.end_to_end' and 'causal.line'"));
}

TEST(ReadPlanCausal, WhatVirtualPausesWouldBeInIsRefused) {
  EXPECT_THAT(more("[measure]\nsimulate = true\n"),
              HasSubstr("'measure' cannot be used in a causal design"));
  EXPECT_THAT(more("[analysis]\nresponse = 'user'\n"),
              HasSubstr("'analysis.response' has no effect in a causal design"));
  EXPECT_THAT(more("stop = { rule = 'precision', half_width = '1%', max = 90 }\n"),
              HasSubstr("'design.stop' does not apply to a causal design: a causal design does not "
                        "compare anything"));
  EXPECT_EQ(more("time = '1h'\n"), "");
}

}  // namespace
}  // namespace stab::plan
