// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "design/trial_list.h"
#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

using ::testing::ElementsAre;

const std::string two_levels = "[factor.aslr]\nlevels = [false, true]\n";

Plan plan_of(const std::string& measure, int blocks = 31, int seed = 7) {
  return good_plan("[experiment]\nname = 't'\nseed = " + std::to_string(seed) +
                   "\n[defaults]\nrepetitions = " + std::to_string(blocks) +
                   "\nwarmup = 5\n[[benchmark]]\nname = 'b'\nrun = ['/bin/true']\n"
                   "[[benchmark]]\nname = 'c'\nrun = ['/bin/true']\nrepetitions = 4\n" +
                   two_levels + measure);
}

const std::string three_sets =
    "[measure]\ncounters = ['task-clock']\n"
    "rotate = [['cycles', 'instructions'], ['cycles', 'branches'], ['page-faults']]\n";

TEST(Rotation, EachRunOfBlocksHasEachSetOnce) {  // T1
  const Plan plan = plan_of(three_sets);
  std::set<std::vector<std::uint32_t>> orders;
  for (const bool warmup : {false, true})
    for (std::uint32_t run = 0; run < 50; ++run) {
      std::vector<std::uint32_t> order;
      for (std::uint32_t i = 0; i < 3; ++i) order.push_back(set_of(plan, 3 * run + i, warmup));
      orders.insert(order);
      std::ranges::sort(order);
      EXPECT_THAT(order, ElementsAre(0, 1, 2));
    }
  EXPECT_EQ(orders.size(), 6U) << "all orders occur";
}

TEST(Rotation, NoSetIsEverFarAheadOfAnother) {  // T1
  const Plan plan = plan_of(three_sets);
  std::map<std::uint32_t, std::uint32_t> blocks;
  for (std::uint32_t block = 0; block < 100; ++block) {
    ++blocks[set_of(plan, block, false)];
    for (std::uint32_t set = 0; set < 3; ++set) {
      EXPECT_EQ(blocks_of_set(plan, set, block + 1), blocks[set]);
      EXPECT_LE(blocks[set], block / 3 + 1);
      EXPECT_GE(blocks[set], (block + 1) / 3);
    }
  }
}

TEST(Rotation, AllCellsAndBenchmarksOfABlockCountOneSet) {
  const Plan plan = plan_of(three_sets);
  for (const Trial& trial : expand(plan).trials)
    EXPECT_EQ(trial.set, set_of(plan, trial.block, trial.warmup)) << trial.position;
}

TEST(Rotation, WarmUpBlocksDoNotChangeThoseThatAreMeasured) {  // T2
  const Plan plan = plan_of(three_sets);
  Plan other = plan;
  other.warmup = 2;
  std::vector<std::uint32_t> sets;
  std::vector<std::uint32_t> others;
  for (const Trial& trial : expand(plan).trials)
    if (!trial.warmup) sets.push_back(*trial.set);
  for (const Trial& trial : expand(other).trials)
    if (!trial.warmup) others.push_back(*trial.set);
  EXPECT_EQ(sets, others);
}

TEST(Rotation, EachMachineCountsAllSetsEquallyOften) {  // T3
  const Plan plan = plan_of(three_sets + "[machines]\nengine = 'slurm'\nnodes = 4\n", 30);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> times;
  std::vector<std::uint32_t> of_set(3);
  for (std::uint32_t block = 0; block < 4 * 30; ++block) {
    const std::uint32_t set = set_of(plan, block, false);
    ++times[{machine_of(plan, false, block), set}];
    ++of_set[set];
    for (std::uint32_t each = 0; each < 3; ++each)
      EXPECT_EQ(blocks_of_set(plan, each, block + 1), of_set[each]) << block;
  }
  EXPECT_EQ(times.size(), 12U);
  for (const auto& [which, count] : times) EXPECT_EQ(count, 10U);
}

TEST(Rotation, AnotherSeedGivesAnotherOrder) {
  const Plan plan = plan_of(three_sets);
  const Plan other = plan_of(three_sets, 31, 8);
  int same = 0;
  for (std::uint32_t block = 0; block < 300; ++block)
    same += set_of(plan, block, false) == set_of(other, block, false) ? 1 : 0;
  EXPECT_GT(same, 50);
  EXPECT_LT(same, 150);
}

TEST(Rotation, OrderAndSeedsOfTrialsAreThoseOfThePlanWithoutSets) {
  const Plan plan = plan_of(three_sets);
  Plan without = plan;
  without.rotated.clear();
  const Expansion a = expand(plan);
  const Expansion b = expand(without);
  ASSERT_EQ(a.trials.size(), b.trials.size());
  for (std::size_t i = 0; i < a.trials.size(); ++i) {
    EXPECT_EQ(a.trials[i].seed, b.trials[i].seed);
    EXPECT_EQ(a.trials[i].cell, b.trials[i].cell);
    EXPECT_FALSE(b.trials[i].set);
  }
}

TEST(Rotation, ANumberHasTheBlocksOfAllSetsThatHoldIt) {
  const Plan plan =
      plan_of(three_sets +
              "[measure.derived]\nipc = 'instructions / cycles'\n"
              "rate = \"'task-clock' / wall\"\nper_fault = \"wall / 'page-faults'\"\n");
  const auto sets = [&](const std::string& name) {
    std::vector<bool> all;
    for (std::uint32_t set = 0; set < 3; ++set)
      all.push_back(BlocksWithNumber(plan, name).in_set(set));
    return all;
  };
  for (const char* name : {"wall", "task-clock", "rate"}) {
    EXPECT_FALSE(BlocksWithNumber(plan, name).takes_turns()) << name;
    EXPECT_EQ(BlocksWithNumber(plan, name).among(31), 31U);
    EXPECT_TRUE(BlocksWithNumber(plan, name).in_block(3));
  }
  EXPECT_THAT(sets("cycles"), ElementsAre(true, true, false));
  EXPECT_THAT(sets("ipc"), ElementsAre(true, false, false));
  EXPECT_THAT(sets("per_fault"), ElementsAre(false, false, true));
  EXPECT_EQ(BlocksWithNumber(plan, "cycles").among(30), 20U);
  EXPECT_EQ(BlocksWithNumber(plan, "ipc").among(30), 10U);
  for (std::uint32_t block = 0; block < 31; ++block)
    EXPECT_EQ(BlocksWithNumber(plan, "ipc").in_block(block), set_of(plan, block, false) == 0);
}

TEST(Rotation, WhatIsComparedIsCountedInSomeOfABenchmarksBlocks) {
  const Plan plan = plan_of(three_sets + "[analysis]\nresponse = 'page-faults'\n", 30);
  EXPECT_EQ(compared_blocks(plan, plan.benchmarks[0]), 10U);
  const std::uint32_t few = compared_blocks(plan, plan.benchmarks[1]);
  EXPECT_GE(few, 1U);
  EXPECT_LE(few, 2U);
  EXPECT_EQ(few, blocks_of_set(plan, 2, 4));
}

}  // namespace
}  // namespace stab::plan
