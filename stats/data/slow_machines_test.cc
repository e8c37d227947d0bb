// SPDX-License-Identifier: MIT
#include "stats/data/slow_machines.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <string>

#include "stats/analyse/analyse.h"

namespace stab::stats {
namespace {

using ::testing::HasSubstr;

struct World {
  std::size_t machines = 4;
  std::size_t blocks = 10;
  double noise = 0.02;
  double between = 0.02;      // sd of the speed of healthy machines
  std::size_t slow_from = 0;  // the block from which the last machine is slow
  double slow = 1;            // by this factor
  double slow_layouts = 0;    // the share of blocks that take 1.4 times as long, on each machine
  double drift = 0;           // sd of a machine's speed, with correlation 0.9 from block to block
  std::vector<std::string> kinds{"k"};  // of machines, in turn
};

Dataset measured(const World& world, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Dataset data;
  data.columns = {{.name = "node", .levels = {}, .codes = {}},
                  {.name = "kind", .levels = world.kinds, .codes = {}},
                  {.name = "block", .levels = {}, .codes = {}},
                  {.name = "v", .levels = {"old", "again", "new"}, .codes = {}}};
  for (std::size_t m = 0; m < world.machines; ++m)
    data.columns[0].levels.push_back("n" + std::to_string(m + 1));
  for (std::size_t b = 0; b < world.blocks; ++b)
    data.columns[2].levels.push_back(std::to_string(b + 1));
  for (std::size_t m = 0; m < world.machines; ++m) {
    const double own = world.between * normal(engine);
    const bool last = m + 1 == world.machines;
    double speed = world.drift * normal(engine);
    for (std::size_t b = 0; b < world.blocks; ++b) {
      speed = 0.9 * speed + std::sqrt(1 - 0.81) * world.drift * normal(engine);
      const double layout = uniform(engine) < world.slow_layouts ? std::log(1.4) : 0;
      for (std::uint32_t v = 0; v < 3; ++v) {
        const double slow = last && b >= world.slow_from ? std::log(world.slow) : 0;
        data.response.push_back(
            1e9 * std::exp(own + slow + layout + speed + world.noise * normal(engine)));
        const std::uint32_t codes[] = {static_cast<std::uint32_t>(m),
                                       static_cast<std::uint32_t>(m % world.kinds.size()),
                                       static_cast<std::uint32_t>(b), v};
        for (std::size_t i = 0; i < 4; ++i) data.columns[i].codes.push_back(codes[i]);
      }
    }
  }
  return data;
}

Spec spec_of() {
  Spec spec;
  spec.design = Design::within_subjects;
  spec.machines = true;
  spec.subject = "node";
  spec.machine_kind = "kind";
  spec.block = "block";
  spec.treatments = {"v"};
  spec.programs = Programs::these;
  return spec;
}

TEST(SlowMachines, AMissingControlDoesNotShiftTheBlocksAfterIt) {
  constexpr std::size_t blocks = 30;
  Dataset data = measured({.machines = 4, .blocks = blocks}, 1);
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    const std::size_t block = row / 3 % blocks;
    if (block >= 15) data.response[row] *= 1.4;  // on all machines
    if (row < blocks * 3 && row % 3 == 0 && block < 10) data.response[row] = std::nan("");
  }
  EXPECT_TRUE(slow_machines(data, spec_of()).empty());
}

TEST(SlowMachines, OneAtHalfSpeedIsFoundWithinThreeBlocks) {
  for (const std::size_t machines : {3UL, 4UL, 16UL})
    for (unsigned seed = 1; seed <= 50; ++seed) {
      const Dataset data = measured(
          {.machines = machines, .blocks = 8, .noise = 0.05, .slow_from = 5, .slow = 2}, seed);
      const auto slow = slow_machines(data, spec_of());
      ASSERT_EQ(slow.size(), 1U) << machines << ' ' << seed;
      EXPECT_EQ(slow[0].name, "n" + std::to_string(machines));
      EXPECT_NEAR(slow[0].times, 2, 0.4);
    }
}

// Also if the noise is large, if some layouts are slow, or if a machine's speed drifts.
TEST(SlowMachines, HardlyEverIsOneInOrderSlow) {
  for (const World& world :
       {World{.noise = 0.02}, World{.noise = 0.1}, World{.noise = 0.3}, World{.slow_layouts = 0.05},
        World{.slow_layouts = 0.1}, World{.slow_layouts = 0.2}, World{.slow_layouts = 0.3},
        World{.drift = 0.1}}) {
    std::size_t marked = 0;
    std::size_t healthy = 0;
    for (const std::size_t machines : {3UL, 5UL, 16UL})
      for (const std::size_t blocks : {3UL, 10UL, 30UL})
        for (unsigned seed = 1; seed <= 60; ++seed) {
          World one = world;
          one.machines = machines;
          one.blocks = blocks;
          one.between = 0.05;
          marked += slow_machines(measured(one, seed), spec_of()).size();
          healthy += machines;
        }
    EXPECT_LE(static_cast<double>(marked), 0.01 * static_cast<double>(healthy))
        << world.noise << ' ' << world.slow_layouts << ' ' << world.drift;
  }
}

TEST(SlowMachines, APhaseThatSlowsAllDownCountsForNone) {
  Dataset data = measured({.blocks = 30}, 1);
  for (std::size_t row = 0; row < data.response.size(); ++row)
    if (const std::uint32_t block = data.columns[2].codes[row]; block >= 10 && block < 14)
      data.response[row] *= 1.5;
  EXPECT_TRUE(slow_machines(data, spec_of()).empty());
}

TEST(SlowMachines, OfTwoSlowOnesBothAreFoundAndOfThreeOfFourNone) {
  for (const std::uint32_t slow : {2U, 3U}) {
    Dataset data = measured({.machines = 5, .blocks = 8}, 1);
    for (std::size_t row = 0; row < data.response.size(); ++row)
      if (data.columns[0].codes[row] < slow) data.response[row] *= 2;
    EXPECT_EQ(slow_machines(data, spec_of()).size(), slow == 2 ? 2U : 0U);
  }
}

TEST(SlowMachines, AnotherKindIsNotSlow) {
  const Dataset data = measured({.slow = 2, .kinds = {"a", "a", "a", "b"}}, 1);
  EXPECT_TRUE(slow_machines(data, spec_of()).empty());
  Spec spec = spec_of();
  spec.machine_kind.clear();
  EXPECT_TRUE(slow_machines(measured({.slow = 2}, 1), spec).empty());
  // A machine of unknown kind is not slow either, and neither is one of two.
  EXPECT_TRUE(slow_machines(measured({.slow = 2, .kinds = {""}}, 1), spec_of()).empty());
  EXPECT_TRUE(slow_machines(measured({.machines = 2, .slow = 2}, 1), spec_of()).empty());
}

// A change that slows one machine down is what the experiment looks for.
TEST(SlowMachines, OnlyTheControlCounts) {
  Dataset data = measured({}, 1);
  for (std::size_t row = 0; row < data.response.size(); ++row)
    if (data.columns[0].codes[row] == 3 && data.columns[3].codes[row] == 2) data.response[row] *= 3;
  EXPECT_TRUE(slow_machines(data, spec_of()).empty());
  Spec spec = spec_of();
  spec.control = "new";
  EXPECT_EQ(slow_machines(data, spec).size(), 1U);
}

TEST(SlowMachines, OfHigherNumbersTheLowOnesAreSlow) {
  Spec spec = spec_of();
  spec.higher_is_better = true;
  EXPECT_TRUE(slow_machines(measured({.slow = 2}, 1), spec).empty());
  EXPECT_EQ(slow_machines(measured({.slow = 0.5}, 1), spec).size(), 1U);
}

TEST(SlowMachines, AMachineWithoutAnyRowIsLeftOut) {
  const Dataset data = measured({}, 1);
  const Dataset rest = without_machines(data, spec_of(), {{.name = "n9", .times = 2}});
  EXPECT_EQ(rest.response, data.response);
}

TEST(SlowMachines, TheAnswerIsThatOfTheOthersAndNamesIt) {
  Dataset data = measured({.slow = 2}, 3);
  for (std::size_t row = 0; row < data.response.size(); ++row)  // it fakes a change
    if (data.columns[0].codes[row] == 3 && data.columns[3].codes[row] == 2)
      data.response[row] *= 1.5;
  const Analysis analysis = analyse(data, spec_of());
  ASSERT_EQ(analysis.slow_machines.size(), 1U);
  EXPECT_EQ(analysis.slow_machines[0].name, "n4");
  EXPECT_EQ(analysis.suite, 3U);
  for (const Effect& effect : analysis.effects)
    if (effect.ratio) EXPECT_NEAR(*effect.ratio, 1, 0.05) << effect.subject;
  EXPECT_THAT(analysis.notes, ::testing::Contains(HasSubstr("n4")));
  Spec all = spec_of();
  all.machine_kind.clear();
  EXPECT_EQ(analyse(data, all).suite, 4U);
}

}  // namespace
}  // namespace stab::stats
