// SPDX-License-Identifier: MIT
#include "design/trial_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

using testing::ElementsAre;

const std::string benchmarks = R"([experiment]
name = "t"
seed = SEED
[defaults]
repetitions = 20
warmup = 2
[[benchmark]]
name = "long"
build = "cc ${CFLAGS} ${LDFLAGS} -o ${OUT}"
run = ["${OUT}"]
[[benchmark]]
name = "short"
build = "cc ${CFLAGS} ${LDFLAGS} -o ${OUT}"
run = ["${OUT}"]
repetitions = 5
)";
const std::string opt =
    "[factor.opt.levels]\nO1 = { CFLAGS = '-O1' }\nO2 = { CFLAGS = '-O2' }\nO3 = { CFLAGS = '-O3' "
    "}\n";
const std::string aslr = "[factor.aslr]\nlevels = [false, true]\n";
const std::string per_block =
    "[factor.link_order]\nrandom = { per = 'block' }\n"
    "[factor.env_bytes]\nrandom = { per = 'block', min = 10, max = 1000000 }\n";

Plan plan_of(const std::string& factors, int seed = 7) {
  std::string text = benchmarks + factors;
  text.replace(text.find("SEED"), 4, std::to_string(seed));
  return good_plan(text);
}

Plan nested_plan(const std::string& random) {
  return good_plan(with_build + opt + "[design]\nkind = 'nested'\n[defaults]\nwarmup = 1\n" +
                   random);
}

std::string names(const std::vector<Level>& levels) {
  std::string text;
  for (const Level& level : levels) text += level.name + " ";
  return text;
}

// What a trial of a block is: all but its place in the order and its draws.
using Unit = std::tuple<bool, std::uint32_t, std::uint32_t, std::uint32_t>;
Unit unit_of(const Trial& trial) {
  return {trial.warmup, trial.block, trial.benchmark, trial.cell};
}

TEST(Expand, CellsAreAllCombinationsTheLastFactorFastest) {
  const Expansion expansion = expand(plan_of(opt + aslr + per_block));
  std::vector<std::string> cells;
  for (const auto& cell : expansion.cells) cells.push_back(names(cell));
  EXPECT_THAT(cells, ElementsAre("O1 false ", "O1 true ", "O2 false ", "O2 true ", "O3 false ",
                                 "O3 true "));
}

TEST(Expand, ListedCellsKeepTheirOrder) {
  const Expansion expansion = expand(plan_of(opt + aslr +
                                             "[design]\nkind = 'custom'\ncells = [ { aslr = true, "
                                             "opt = 'O3' }, { aslr = false, opt = 'O1' }, "
                                             "{ opt = 'O2', aslr = false } ]\n"));
  std::vector<std::string> cells;
  for (const auto& cell : expansion.cells) cells.push_back(names(cell));
  EXPECT_THAT(cells, ElementsAre("O3 true ", "O1 false ", "O2 false "));
}

TEST(Expand, APlanWithoutTreatmentsHasOneEmptyCell) {
  const Expansion expansion = expand(good_plan(smallest));
  ASSERT_EQ(expansion.cells.size(), 1U);
  EXPECT_TRUE(expansion.cells[0].empty());
  EXPECT_EQ(expansion.trials.size(), 30U);
}

TEST(Expand, EachBlockRunsEachCellOfEachBenchmarkOnce) {
  const Expansion expansion = expand(plan_of(opt + aslr + per_block));
  std::set<Unit> units;
  for (const Trial& trial : expansion.trials) EXPECT_TRUE(units.insert(unit_of(trial)).second);
  // 20 blocks of one benchmark, 5 of the other, 2 warm-up blocks of both.
  EXPECT_EQ(units.size(), 6U * (20 + 5 + 2 + 2));
  EXPECT_EQ(expansion.blocks, 20U);
}

TEST(Expand, PositionsAreConsecutiveAndBlocksDoNotMix) {
  const Expansion expansion = expand(plan_of(opt + per_block));
  std::tuple<bool, std::uint32_t> last{false, 0};
  for (std::size_t i = 0; i < expansion.trials.size(); ++i) {
    const Trial& trial = expansion.trials[i];
    EXPECT_EQ(trial.position, i);
    const std::tuple<bool, std::uint32_t> here{!trial.warmup, trial.block};
    EXPECT_GE(here, last);
    last = here;
  }
}

TEST(Expand, ATrialIsTheSameInWhateverOrderTheyAreLookedAt) {
  const Expansion expansion = expand(plan_of(opt + aslr + per_block));
  const std::vector<Trial> forwards(expansion.trials.begin(), expansion.trials.end());
  ASSERT_EQ(forwards.size(), expansion.trials.size());
  const Trials copy = expansion.trials;
  for (std::size_t i = forwards.size(); i-- > 0;) {
    const Trial there = copy[i];
    EXPECT_EQ(there.position, i);
    EXPECT_EQ(unit_of(there), unit_of(forwards[i]));
    EXPECT_EQ(names(there.levels), names(forwards[i].levels));
    EXPECT_EQ(there.seed, forwards[i].seed);
  }
  EXPECT_THROW(static_cast<void>(copy.at(forwards.size())), std::out_of_range);
}

TEST(Expand, ABenchmarkWithFewerRepetitionsIsAbsentFromLaterBlocks) {
  for (const Trial& trial : expand(plan_of(opt)).trials) {
    if (trial.benchmark == 1) EXPECT_LT(trial.block, 5U);
  }
}

TEST(Expand, TrialsAreCountedWithoutMakingThem) {
  for (const Plan& plan : {plan_of(opt + aslr + per_block), plan_of(opt), good_plan(smallest),
                           nested_plan("[factor.link_order]\nrandom = { seeds = 10, runs = 4 }\n")})
    EXPECT_EQ(count_trials(plan), expand(plan).trials.size());
}

TEST(Expand, ValuesDrawnPerBlockAreEqualInsideAndDifferentBetweenBlocks) {
  const Plan plan = plan_of(opt + per_block);
  std::map<std::tuple<bool, std::uint32_t>, std::string> drawn;
  for (const Trial& trial : expand(plan).trials) {
    const std::string values = trial.levels.at(1).name + " " + trial.levels.at(2).name;
    const auto [first, is_new] = drawn.emplace(std::tuple(trial.warmup, trial.block), values);
    if (!is_new) EXPECT_EQ(first->second, values);
    EXPECT_GE(trial.levels[1].number, 1U);
    EXPECT_LE(trial.levels[1].number, max_drawn_seed);
    EXPECT_GE(trial.levels[2].number, 10U);
    EXPECT_LE(trial.levels[2].number, 1000000U);
    EXPECT_EQ(trial.levels[2].name, std::to_string(trial.levels[2].number));
  }
  std::set<std::string> different;
  for (const auto& [block, values] : drawn) different.insert(values);
  EXPECT_EQ(different.size(), 22U);
}

TEST(Expand, DrawnBytesReachBothBounds) {
  const Plan plan = good_plan(smallest + "[defaults]\nrepetitions = 200\n" +
                              "[factor.env_bytes]\nrandom = { per = 'block', min = 3, max = 5 }\n");
  std::map<std::uint64_t, int> seen;
  for (const Trial& trial : expand(plan).trials) ++seen[trial.levels.at(0).number];
  ASSERT_EQ(seen.size(), 3U);
  for (const auto& [value, count] : seen) EXPECT_NEAR(count, 67, 30) << value;
  EXPECT_EQ(seen.begin()->first, 3U);
  EXPECT_EQ(seen.rbegin()->first, 5U);
}

TEST(Expand, ATrialHasOneLevelForEachFactorInThePlansOrder) {
  const Plan plan = plan_of(per_block + opt + "[factor.aslr]\nlevels = [true]\n");
  const Expansion expansion = expand(plan);
  for (const Trial& trial : expansion.trials) {
    ASSERT_EQ(trial.levels.size(), 4U);
    EXPECT_EQ(trial.levels[2].name, expansion.cells[trial.cell][0].name);
    EXPECT_EQ(trial.levels[3].name, "true");
    EXPECT_EQ(trial.levels[3].number, 1U);
  }
}

TEST(Expand, EveryTrialHasASeedOfItsOwn) {
  const Expansion expansion = expand(plan_of(opt + aslr));
  std::set<std::uint64_t> seeds;
  for (const Trial& trial : expansion.trials) seeds.insert(trial.seed);
  EXPECT_EQ(seeds.size(), expansion.trials.size());
}

std::vector<Unit> order(const Expansion& expansion) {
  std::vector<Unit> units;
  for (const Trial& trial : expansion.trials) units.push_back(unit_of(trial));
  return units;
}

TEST(Expand, TheSeedDecidesTheOrder) {
  EXPECT_EQ(order(expand(plan_of(opt))), order(expand(plan_of(opt))));
  EXPECT_NE(order(expand(plan_of(opt))), order(expand(plan_of(opt, 8))));
}

TEST(Expand, BlocksHaveDifferentOrders) {
  std::map<std::uint32_t, std::string> orders;
  for (const Trial& trial : expand(plan_of(opt)).trials)
    if (!trial.warmup && trial.block < 5)
      orders[trial.block] += std::to_string(trial.benchmark) + std::to_string(trial.cell) + " ";
  std::set<std::string> different;
  for (const auto& [block, text] : orders) different.insert(text);
  EXPECT_EQ(different.size(), 5U);
}

TEST(Expand, EveryPlaceInABlockIsEquallyLikely) {
  const Plan plan = good_plan(with_build + "repetitions = 3000\n" + opt);
  std::map<std::uint32_t, int> first;
  for (const Trial& trial : expand(plan).trials)
    if (trial.position % 3 == 0) ++first[trial.cell];
  for (const auto& [cell, count] : first) EXPECT_NEAR(count, 1000, 130) << cell;
}

TEST(Expand, WarmUpBlocksDoNotChangeTheMeasuredOnes) {
  Plan plan = plan_of(opt + per_block);
  const Expansion with = expand(plan);
  plan.warmup = 0;
  const Expansion without = expand(plan);
  const std::size_t skipped = with.trials.size() - without.trials.size();
  ASSERT_EQ(skipped, 12U);
  for (std::size_t i = 0; i < without.trials.size(); ++i) {
    EXPECT_EQ(unit_of(with.trials[skipped + i]), unit_of(without.trials[i]));
    EXPECT_EQ(names(with.trials[skipped + i].levels), names(without.trials[i].levels));
    EXPECT_EQ(with.trials[skipped + i].seed, without.trials[i].seed);
  }
}

TEST(Expand, NestedSeedsAreDifferentInEachCellAndRunInEachBlock) {
  const Expansion expansion =
      expand(nested_plan("[factor.link_order]\nrandom = { seeds = 10, runs = 4 }\n"));
  std::map<std::uint32_t, std::map<std::string, std::set<std::uint32_t>>> blocks;  // cell, seed
  std::size_t measured = 0;
  for (const Trial& trial : expansion.trials) {
    if (trial.warmup) continue;
    ++measured;
    EXPECT_TRUE(blocks[trial.cell][trial.levels.at(1).name].insert(trial.block).second);
  }
  EXPECT_EQ(expansion.blocks, 4U);
  EXPECT_EQ(measured, 3U * 10 * 4);
  EXPECT_EQ(expansion.trials.size() - measured, 3U * 10);
  std::set<std::string> all;
  for (const auto& [cell, by_seed] : blocks) {
    EXPECT_EQ(by_seed.size(), 10U);
    for (const auto& [seed, in_blocks] : by_seed) {
      EXPECT_EQ(in_blocks.size(), 4U);
      all.insert(seed);
    }
  }
  EXPECT_EQ(all.size(), 30U);
}

TEST(Expand, NestedValuesAreDifferentEvenWhenAllAreNeeded) {
  const Expansion expansion = expand(
      nested_plan("[factor.env_bytes]\nrandom = { seeds = 5, runs = 1, min = 0, max = 4 }\n"));
  std::map<std::uint32_t, std::set<std::uint64_t>> values;
  for (const Trial& trial : expansion.trials) values[trial.cell].insert(trial.levels.at(1).number);
  for (const auto& [cell, numbers] : values)
    EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 4)) << cell;
}

// Each machine runs as many blocks of each benchmark, and of warm-up, in a drawn order.
TEST(Machines, EachHasAsManyBlocks) {
  const Plan plan = plan_of(opt + "[machines]\nengine = 'slurm'\nnodes = 3\n");
  const Expansion expansion = expand(plan);
  EXPECT_EQ(expansion.blocks, 60U);
  std::map<std::tuple<std::uint32_t, bool, std::uint32_t>, std::set<std::uint32_t>> blocks;
  for (const Trial& trial : expansion.trials)
    blocks[{trial.benchmark, trial.warmup, machine_of(plan, trial.warmup, trial.block)}].insert(
        trial.block);
  EXPECT_EQ(blocks.size(), 12U);
  for (const auto& [key, its] : blocks) {
    const auto [benchmark, warmup, machine] = key;
    EXPECT_LT(machine, 3U);
    EXPECT_EQ(its.size(), warmup ? 2U : benchmark == 0 ? 20U : 5U);
  }
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint32_t round = 0; round < 100; ++round)
    orders.insert({machine_of(plan, false, 3 * round), machine_of(plan, false, 3 * round + 1),
                   machine_of(plan, false, 3 * round + 2)});
  EXPECT_EQ(orders.size(), 6U) << "all orders occur";
  const Plan other = plan_of(opt + "[machines]\nengine = 'slurm'\nnodes = 3\n", 8);
  bool differs = false;
  for (std::uint32_t block = 0; block < 60; ++block)
    differs = differs || machine_of(plan, false, block) != machine_of(other, false, block);
  EXPECT_TRUE(differs) << "the seed decides";
}

TEST(Machines, OneMachineHasAllBlocks) {
  const Plan plan = plan_of(opt);
  for (std::uint32_t block = 0; block < 20; ++block) EXPECT_EQ(machine_of(plan, false, block), 0U);
}

const std::string cost = "[analysis]\ncost = true\n";

// The blocks with plain trials of each benchmark.
std::map<std::uint32_t, std::vector<std::uint32_t>> plain_blocks(const Plan& plan) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> blocks;
  for (const Trial& trial : expand(plan).trials)
    if (trial.plain) blocks[trial.benchmark].push_back(trial.block);
  for (auto& [benchmark, all] : blocks) std::ranges::sort(all);
  return blocks;
}

TEST(PlainTrials, P1OneOfFiveBlocksHasOneOfTheFirstCell) {
  std::set<std::vector<std::uint32_t>> drawn;
  for (int seed = 1; seed <= 20; ++seed) {
    const Plan plan = plan_of(opt + per_block + cost, seed);
    const Expansion expansion = expand(plan);
    auto blocks = plain_blocks(plan);
    ASSERT_EQ(blocks[0].size(), 4U) << "of 20 blocks";
    ASSERT_EQ(blocks[1].size(), 1U) << "of 5 blocks";
    for (std::uint32_t run = 0; run < 4; ++run) EXPECT_EQ(blocks[0][run] / 5, run);
    drawn.insert(blocks[0]);
    EXPECT_EQ(expansion.trials.size(), 3U * (20 + 5 + 2 + 2) + 5);
    EXPECT_EQ(expansion.trials.size(), count_trials(plan));
    std::set<std::uint64_t> seeds;
    for (const Trial& trial : expansion.trials) {
      seeds.insert(trial.seed);
      if (!trial.plain) continue;
      EXPECT_FALSE(trial.warmup) << "P2";
      EXPECT_EQ(trial.cell, 0U);
      EXPECT_EQ(trial.levels[0].name, "O1");
      const auto same_block = [&](const Trial& other) {
        return !other.warmup && !other.plain && other.block == trial.block;
      };
      const Trial other = *std::ranges::find_if(expansion.trials, same_block);
      EXPECT_EQ(trial.levels[2].name, other.levels[2].name) << "the block's environment";
    }
    EXPECT_EQ(seeds.size(), expansion.trials.size());
  }
  EXPECT_GT(drawn.size(), 15U);
  EXPECT_TRUE(plain_blocks(plan_of(opt)).empty());
  EXPECT_TRUE(plain_blocks(plan_of(opt + "[analysis]\ncost = false\n")).empty());
}

TEST(PlainTrials, TheTrialsOfCellsAreThoseOfAPlanWithoutThem) {
  const auto seeds = [](const Plan& plan) {
    std::map<Unit, std::uint64_t> all;
    for (const Trial& trial : expand(plan).trials)
      if (!trial.plain) all[unit_of(trial)] = trial.seed;
    return all;
  };
  EXPECT_EQ(seeds(plan_of(opt + cost)), seeds(plan_of(opt)));
}

TEST(PlainTrials, TheFewestTrialsAreThoseOfTheFirstBlocks) {
  for (int seed = 1; seed <= 20; ++seed) {
    std::string text = "[experiment]\nname = 't'\nseed = " + std::to_string(seed) +
                       "\n[[benchmark]]\nname = 'b'\nrun = ['/bin/true', '${X}']\n"
                       "[factor.x]\nlevels = { a = { X = '1' }, b = { X = '2' } }\n"
                       "[design]\nstop = { rule = 'sequential', min = 12, max = 43 }\n" +
                       cost;
    const Plan plan = good_plan(text);
    const Expansion expansion = expand(plan);
    EXPECT_EQ(plain_blocks(plan)[0].size(), 8U) << "of 43 blocks";
    EXPECT_LT(plain_blocks(plan)[0].back(), 40U) << "P1";
    const auto first = std::ranges::count_if(expansion.trials,
                                             [](const Trial& trial) { return trial.block < 12; });
    EXPECT_EQ(fewest_trials(plan), static_cast<std::size_t>(first));
    EXPECT_EQ(count_trials(plan), expansion.trials.size());
    std::size_t sum = 0;
    for (std::uint32_t block = 0; block < expansion.blocks; ++block)
      sum += expansion.trials.in_block(block);
    EXPECT_EQ(sum, expansion.trials.size());
  }
}

TEST(PlainTrials, P3SeveralMachinesHaveThemInTheSameRounds) {
  const Plan plan = plan_of(opt + cost + "[machines]\nengine = 'slurm'\nnodes = 3\n");
  auto blocks = plain_blocks(plan);
  ASSERT_EQ(blocks[0].size(), 12U);
  for (std::size_t i = 0; i < blocks[0].size(); i += 3) {
    EXPECT_EQ(blocks[0][i] % 3, 0U);
    EXPECT_EQ(blocks[0][i + 2], blocks[0][i] + 2);
    EXPECT_EQ(blocks[0][i] / 3 / 5, i / 3);
  }
  EXPECT_EQ(count_trials(plan), expand(plan).trials.size());
}

}  // namespace
}  // namespace stab::plan
