// SPDX-License-Identifier: MIT
#include "results/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "report/html/parsing_testing.h"
#include "report/html/parts.h"
#include "results/sums.h"
#include "results/testing.h"

namespace stab::results {
namespace {

using report::html::Background;
using report::html::Chance;
using report::html::Fate;
using report::html::Shot;
using report::html::Shots;
using ::testing::HasSubstr;

class PagesTest : public DocumentTest {
 protected:
  Shots shots() {
    auto read = read_shots(*store_, experiment_, plan_);
    if (!read) ADD_FAILURE() << read.error().message;
    return read.value_or(Shots());
  }
  Background background() {
    auto made = background_of(*store_, experiment_, document());
    if (!made) ADD_FAILURE() << made.error().message;
    return made.value_or(Background());
  }
};

TEST_F(PagesTest, EachMeasuredTrialIsThereOnceWithItsNumber) {
  begin(tables);
  run();
  const Shots found = shots();
  EXPECT_EQ(found.cells.size(), 4U);
  EXPECT_EQ(found.shots.size(), 16U);  // without the warm-up's 4
  EXPECT_EQ(found.ok, 16U);
  EXPECT_EQ(found.kept_ok, 16U);
  for (const Shot& shot : found.shots)
    EXPECT_EQ(shot.value,
              found.cells[shot.cell].levels == std::vector<std::string>{"slow"} ? 2e6 : 1e6);
  EXPECT_TRUE(std::ranges::is_sorted(found.shots, {}, &Shot::position));
}

TEST_F(PagesTest, RepeatedAttemptsAreThereWithHowTheyEnded) {
  begin(tables);
  run([&](Trial& trial) {
    if (trial.position == 5) {
      Trial first = trial;
      first.last = false;
      first.status = TrialStatus::disturbed;
      first.reason = "a rule";
      store(first);
      trial.attempt = 1;
    }
    if (trial.position == 6) {
      trial.status = TrialStatus::timeout;
      trial.reason = "too long";
      trial.wall_ns.reset();
    }
  });
  const Shots found = shots();
  EXPECT_EQ(found.ok, 15U);
  EXPECT_EQ(found.others, 2U);
  const auto at = [&](std::uint32_t position) {
    return *std::ranges::find(found.shots, position, &Shot::position);
  };
  EXPECT_EQ(at(5).fate, Fate::disturbed);
  EXPECT_EQ(at(5).attempt, 0U);
  EXPECT_EQ(at(6).fate, Fate::failed);
  EXPECT_TRUE(std::isnan(at(6).value));
}

TEST_F(PagesTest, WhatIsRandomIsToldFromWhatIsNot) {
  begin(tables);
  run();
  const auto chances = chances_of(plan_, document());
  const auto find = [&](const std::string& what) {
    const auto found = std::ranges::find(chances, what, &Chance::what);
    if (found == chances.end()) ADD_FAILURE() << what;
    return found == chances.end() ? Chance() : *found;
  };
  EXPECT_TRUE(find("order of trials").random);
  EXPECT_TRUE(find("env_bytes").random);
  EXPECT_FALSE(find("mode").random);
  EXPECT_FALSE(find("link order").random);
  EXPECT_FALSE(find("positions of code, stack and heap").random);
  EXPECT_FALSE(find("address space (ASLR)").random);
  EXPECT_EQ(std::ranges::count(chances, "size of the environment", &Chance::what), 0);
}

TEST_F(PagesTest, ARandomHeapIsNotCalledRandomCode) {
  begin(tables);
  run();
  report::Document made = document();
  made.layouts = {.randomized = 16, .random_heap = 16, .kinds = "heap"};
  const auto chances = chances_of(plan_, made);
  const auto found = std::ranges::find(chances, "positions of heap", &Chance::what);
  ASSERT_NE(found, chances.end());
  EXPECT_TRUE(found->random);
  EXPECT_THAT(found->how, HasSubstr("by the programs' runtime (heap blocks) in 16 of "));
  EXPECT_THAT(found->how, HasSubstr("; positions of code and stack were not random"));
}

TEST_F(PagesTest, HowOftenABlockRunsACellIsThatOfTheDesign) {
  begin(tables);
  run();
  const auto how = [&](plan::DesignKind kind) {
    plan_.design.kind = kind;
    return chances_of(plan_, document()).front().how;
  };
  EXPECT_THAT(how(plan::DesignKind::full_factorial),
              HasSubstr("each of its cells once; the order"));
  EXPECT_THAT(how(plan::DesignKind::nested),
              HasSubstr("once with each seed of the cell; the order"));
  EXPECT_THAT(how(plan::DesignKind::padding_study),
              HasSubstr("once under each padding; the order"));
}

TEST_F(PagesTest, PlannedLevelsAreThereWithoutTrials) {
  begin(tables);
  run([](Trial& trial) {
    if (trial.levels.at("mode") == "slow") trial.status = TrialStatus::timeout;
  });
  EXPECT_EQ(background().levels, (report::html::PlannedLevels{{"slow", "fast"}}));
}

TEST_F(PagesTest, ThePageHasThePlanAndTheBuilds) {
  begin(tables);
  run();
  ASSERT_TRUE(store_->add_build({.experiment = experiment_.id,
                                 .key = "k",
                                 .benchmark = "quick",
                                 .command = "cc -O2 <quick>.c",
                                 .status = store::BuildStatus::built,
                                 .binary_sha256 = std::string(64, 'a')}));
  EXPECT_EQ(background().plan, tables);
  const auto reply = answer_any_report(*store_, experiment_, "/tmp/x.db",
                                       {.id = experiment_.id, .format = "html"});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(report::html::parse(reply->text).problem, "");
  EXPECT_THAT(reply->text, HasSubstr("cc -O2 &lt;quick&gt;.c"));
  EXPECT_THAT(reply->text, HasSubstr("levels = { slow = { MODE = &quot;s&quot; }"));
  EXPECT_TRUE(reply->complete);
}

TEST_F(PagesTest, AFormatThatIsNoneIsRefusedWithThoseThereAre) {
  begin(tables);
  run();
  const auto reply = answer_any_report(*store_, experiment_, "", {.format = "pdf"});
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("the formats are text, json and html"));
}

}  // namespace

// Of more trials than a page keeps it has a sample.

namespace {

using report::html::most_shots;

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
