// SPDX-License-Identifier: MIT
// Of more trials than a page keeps it has a sample.
#include "results/pages/shots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "report/html/groups.h"
#include "results/sums/within_trials.h"
#include "results/testing.h"

namespace stab::results {
namespace {

using report::html::most_shots;
using report::html::Shot;

// Many numbers in few trials: a program that measures 20 benchmarks.
const std::string samples = R"([experiment]
name = "sorting"
seed = 11
[defaults]
repetitions = 1100
[[benchmark]]
name = "bm"
run = ["/bin/bm", "${MODE}"]
[[measure.output]]
name = "time"
google_benchmark = "real_time"
[analysis]
response = "time"
[factor.mode]
levels = { slow = { MODE = "s" }, fast = { MODE = "f" } }
)";

class ShotsTest : public DocumentTest {
 protected:
  void SetUp() override {
    begin(samples);
    std::vector<Trial> trials;
    for (const plan::Trial& planned : expansion_.trials) {
      trials.push_back(trial(planned));
      for (int i = 0; i < 20; ++i)
        trials.back().samples.push_back({.measure = "time",
                                         .subject = "b" + std::to_string(i),
                                         .unit = "ns",
                                         .values = {100.0 + planned.position}});
    }
    ASSERT_TRUE(store_->add_trials(trials));
  }
};

TEST_F(ShotsTest, OfTooManyNumbersItKeepsAFixedSampleOfThemAll) {
  const auto found = read_shots(*store_, experiment_, plan_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ok, 44'000U);
  EXPECT_EQ(found->kept_ok, most_shots);
  EXPECT_EQ(found->shots.size(), most_shots);
  const auto key = [](const Shot& shot) { return std::tuple(shot.position, shot.cell); };
  EXPECT_TRUE(std::ranges::is_sorted(found->shots, {}, key));
  EXPECT_EQ(std::ranges::adjacent_find(found->shots, {}, key), found->shots.end());
  // Each tenth of the experiment has its share: 4400 of which 4000 are kept.
  for (std::uint32_t tenth = 0; tenth < 10; ++tenth) {
    const auto kept = std::ranges::count_if(
        found->shots, [&](const Shot& shot) { return shot.position / 220 == tenth; });
    EXPECT_NEAR(static_cast<double>(kept), 4000, 120) << tenth;  // six standard deviations
  }
  const auto again = read_shots(*store_, experiment_, plan_);
  ASSERT_TRUE(again);
  EXPECT_TRUE(std::ranges::equal(found->shots, again->shots, {}, key, key));
}

TEST_F(ShotsTest, EachCellKnowsHowManyNumbersThereAreOfIt) {
  const auto found = read_shots(*store_, experiment_, plan_);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->cells.size(), 40U);
  for (const report::html::ShotCell& cell : found->cells) EXPECT_EQ(cell.ok, 1100U) << cell.name;
}

class NamesTest : public DocumentTest {
 protected:
  // Of every trial the status, and names that no other trial has.
  void store_names(int each, const Change& change) {
    begin(samples);
    for (const plan::Trial& planned : expansion_.trials) {
      if (planned.position == 6) break;
      Trial done = trial(planned);
      for (int i = 0; i < each; ++i)
        done.samples.push_back(
            {.measure = "time",
             .subject = "b" + std::to_string(planned.position) + "_" + std::to_string(i),
             .unit = "ns",
             .values = {100.0}});
      change(done);
      store(done);
    }
    experiment_.state = "running";  // of a part of the plan
  }
};

TEST_F(NamesTest, OfMoreNamesThanTheAnalysisTakesTheLaterOnesHaveNoCell) {
  store_names(900, [](Trial& trial) {
    if (trial.position == 1) trial.status = TrialStatus::timeout;
  });
  const auto found = read_shots(*store_, experiment_, plan_);
  ASSERT_TRUE(found) << found.error().message;
  // 1000 of trials that are ok, and those of the failed one.
  EXPECT_EQ(found->cells.size(), 1900U);
  EXPECT_EQ(found->ok, 1000U);
  EXPECT_EQ(found->others, 900U);
  EXPECT_EQ(found->left_out, 6U * 900 - 1900);
  EXPECT_NE(report::html::kept_words(*found).find("3500 values"), std::string::npos);
}

TEST_F(NamesTest, OfFailedAttemptsNoMoreNamesHaveACell) {
  store_names(900, [](Trial& trial) { trial.status = TrialStatus::timeout; });
  const auto found = read_shots(*store_, experiment_, plan_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->cells.size(), most_subjects);
}

TEST_F(NamesTest, WhatWasNeverRunIsNoAttempt) {
  store_names(1, [](Trial& trial) {
    if (trial.position < 2) trial.samples.clear();
    if (trial.position == 0) trial.status = TrialStatus::build_failed;
    if (trial.position == 1) trial.status = TrialStatus::skipped;
  });
  const auto found = read_shots(*store_, experiment_, plan_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->others, 0U);
  EXPECT_EQ(found->ok, 4U);
}

}  // namespace
}  // namespace stab::results
