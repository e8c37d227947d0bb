// SPDX-License-Identifier: MIT
#include "results/pages/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "report/drawing/testing.h"
#include "results/pages/random_conditions.h"
#include "results/pages/shots.h"
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

TEST_F(PagesTest, HowOftenABlockRunsACellIsThatOfTheDesign) {
  begin(tables);
  run();
  const auto how = [&](plan::DesignKind kind) {
    plan_.design.kind = kind;
    return chances_of(plan_, document()).front().how;
  };
  EXPECT_THAT(how(plan::DesignKind::full_factorial), HasSubstr("each of its cells once, in"));
  EXPECT_THAT(how(plan::DesignKind::nested), HasSubstr("once with each seed of the cell, in"));
  EXPECT_THAT(how(plan::DesignKind::padding_study), HasSubstr("once under each padding, in"));
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
}  // namespace stab::results
