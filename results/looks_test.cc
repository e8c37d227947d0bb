// SPDX-License-Identifier: MIT
// What looks before the last block do to an experiment's report: early ones, those of a rule, and the
// one where the plan's time ended it.
#include <gmock/gmock.h>

#include <algorithm>

#include "results/document.h"
#include "results/testing.h"

namespace stab::results {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(DocumentTest, ALookBeforeTheEndOfAFixedNumberOfBlocksSaysSo) {
  for (const std::string state : {"running", "cancelled", "done"}) {
    begin(tables);
    experiment_.state = state;
    for (const plan::Trial& planned : expansion_.trials)
      if (planned.warmup || planned.block < 2 || state == "done") store(trial(planned));
    const auto seen = document();
    EXPECT_EQ(seen.looked_early, state != "done") << state;
    EXPECT_EQ(std::ranges::count_if(
                  seen.analysis.notes,
                  [](const std::string& note) { return note.contains("covers 8 of 16 trials"); }),
              state == "done" ? 0 : 1);
  }
}

TEST_F(DocumentTest, LooksThatARuleAllowsForAreNotEarlyNorIsNoDataAtAll) {
  begin(tables);
  experiment_.state = "running";
  EXPECT_FALSE(document().looked_early);
  std::string stops = tables;
  stops.replace(stops.find("repetitions = 4\n"), std::string("repetitions = 4\n").size(), "");
  begin(stops + "[design]\nstop = { rule = 'sequential', min = 5, max = 30, looks = 3 }\n");
  experiment_.state = "running";
  for (const plan::Trial& planned : expansion_.trials)
    if (planned.warmup || planned.block < 3) store(trial(planned));
  EXPECT_FALSE(document().looked_early);
}

TEST_F(DocumentTest, WhatStopsAnExperimentIsWhatTheReportSays) {
  for (const std::string rule :
       {"rule = 'precision', half_width = '1%', min = 15", "rule = 'sequential', min = 15"}) {
    std::string stops = tables;
    stops.replace(stops.find("repetitions = 4\n"), std::string("repetitions = 4\n").size(), "");
    begin(stops + "[design]\nstop = { " + rule + ", max = 20 }\n");
    run([](Trial& trial) { *trial.wall_ns += trial.seed % 40'000; });
    const auto seen = look_at_trials(*store_, experiment_, plan_, 20);
    ASSERT_TRUE(seen);
    const auto all = document();
    ASSERT_TRUE(all.stopping);
    EXPECT_THAT(all.stopping->words, HasSubstr("after 20 " + seen->words));
    EXPECT_EQ(all.stopping->blocks, 20U);
    EXPECT_TRUE(seen->stop) << seen->words;
    const auto earlier = look_at_trials(*store_, experiment_, plan_, 15);
    EXPECT_EQ(earlier->words == seen->words, rule.contains("sequential"));
  }
}

// For any other reason the rule may have ended it there: an early look has spent its share only.
TEST_F(DocumentTest, OnlyWhereTheTimeEndedItTheLastLookSpendsWhatIsLeft) {
  std::string stops = tables;
  stops.replace(stops.find("repetitions = 4\n"), std::string("repetitions = 4\n").size(), "");
  begin(stops +
        "[design]\ntime = '1min'\nstop = { rule = 'sequential', min = 5, max = 15, looks = 3 }\n");
  for (const plan::Trial& planned : expansion_.trials)
    if (planned.warmup || planned.block < 10) store(trial(planned));
  // Its reason, which is for people, decides nothing.
  experiment_.reason = "the experiment's time limit of 1 min 0 s allowed only 10 of 15 blocks";
  const auto looks = [this](const std::string& state, std::optional<store::StopCause> cause) {
    experiment_.state = state;
    experiment_.stopped_by = cause;
    return document().analysis.spec.looks->planned;
  };
  EXPECT_THAT(looks("done", store::StopCause::time), ElementsAre(5, 10));
  EXPECT_THAT(looks("analysing", store::StopCause::time), ElementsAre(5, 10));
  EXPECT_THAT(looks("done", store::StopCause::rule), ElementsAre(5, 10, 15));
  EXPECT_THAT(looks("cancelled", store::StopCause::time), ElementsAre(5, 10, 15));
}

}  // namespace
}  // namespace stab::results
