// SPDX-License-Identifier: MIT
#include "results/exclusion/tally.h"

#include <gtest/gtest.h>

#include "results/exclusion/judge.h"

namespace stab::exclusion {
namespace {

using store::TrialStatus;

class TallyTest : public ::testing::Test {
 protected:
  TallyTest() {
    plan_.exclude = {{.quantity = "steal_share", .bound = plan::Bound::above, .limit = 0.01},
                     {.quantity = "interrupts_per_s", .bound = plan::Bound::above, .limit = 50}};
    plan_.analysis.alpha = 0.05;
  }
  // Of 1 s.
  bool add(Tally& tally, std::uint32_t position, std::uint32_t attempt, std::int64_t interrupts,
           TrialStatus status = TrialStatus::ok, bool last = true) {
    store::Trial trial{.position = position,
                       .attempt = attempt,
                       .last = last,
                       .block = position / 2,
                       .benchmark = "b",
                       .status = status,
                       .wall_ns = 1'000'000'000};
    if (interrupts >= 0) trial.readings = {counters::counted("interrupts", "", interrupts)};
    mark(plan_.exclude, trial);
    return tally.add(trial, position % 2 == 0 ? "b x=1" : "b x=2");
  }

  plan::Plan plan_;
};

TEST_F(TallyTest, CountsAttemptsRulesAndCells) {
  Tally tally(plan_);
  EXPECT_TRUE(add(tally, 0, 0, 80, TrialStatus::ok, false));
  EXPECT_FALSE(add(tally, 0, 1, 20));
  EXPECT_TRUE(add(tally, 1, 0, 20));
  EXPECT_TRUE(add(tally, 2, 0, 80, TrialStatus::ok, false));
  EXPECT_FALSE(add(tally, 2, 1, 90));
  EXPECT_FALSE(add(tally, 3, 0, 80, TrialStatus::timeout, false));
  EXPECT_TRUE(add(tally, 3, 1, 20));
  EXPECT_TRUE(add(tally, 4, 0, -1));
  const report::Exclusions found = tally.result();
  EXPECT_EQ(found.disturbed, 3U);
  EXPECT_EQ(found.lost, 1U);
  ASSERT_EQ(found.rules.size(), 2U);
  EXPECT_EQ(found.rules[0].when, "steal_share > 0.01");
  EXPECT_EQ(found.rules[0].caught, 0U);
  EXPECT_EQ(found.rules[0].open, 7U);
  EXPECT_EQ(found.rules[1].caught, 3U);
  EXPECT_EQ(found.rules[1].open, 1U);
  // The one that no rule could judge is in no cell.
  ASSERT_EQ(found.cells.size(), 2U);
  EXPECT_EQ(found.cells[0].judged, 2U);
  EXPECT_EQ(found.cells[0].disturbed, 2U);
  EXPECT_EQ(found.cells[1].judged, 2U);
  EXPECT_EQ(found.cells[1].disturbed, 0U);
  ASSERT_TRUE(found.p);
  EXPECT_FALSE(found.depends());
}

TEST_F(TallyTest, DisturbancesOfOneCellDependOnIt) {
  Tally tally(plan_);
  for (std::uint32_t position = 0; position < 40; ++position)
    add(tally, position, 0, position % 2 == 0 && position < 24 ? 80 : 20);
  EXPECT_TRUE(tally.result().depends());
}

TEST_F(TallyTest, WithoutDisturbancesThereIsNothingToTest) {
  Tally tally(plan_);
  for (std::uint32_t position = 0; position < 40; ++position) add(tally, position, 0, 20);
  EXPECT_FALSE(tally.result().p);
  EXPECT_FALSE(tally.result().depends());
}

}  // namespace
}  // namespace stab::exclusion
