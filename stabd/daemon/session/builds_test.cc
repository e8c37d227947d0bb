// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "design/trial_list.h"
#include "plan/reading/testing.h"
#include "stabd/daemon/session/schedule.h"

namespace stab::daemon {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string few = "[defaults]\nrepetitions = 3\n";
const std::string opt =
    "[factor.opt]\nlevels = { O1 = { CFLAGS = '-O1' }, O2 = { CFLAGS = '-O2' } }\n";
const std::string orders = "[factor.link_order]\nrandom = { per = 'block' }\n";
const std::string sizes = "[factor.env_bytes]\nlevels = [0, 4096]\n";

const std::string lto =
    "[factor.lto]\nlevels = { on = { LDFLAGS = '-flto' }, off = { LDFLAGS = '' } }\n";
const std::string second_benchmark =
    "[[benchmark]]\nname = 'c'\nbuild = \"cc ${CFLAGS} -o ${OUT} b.c ${LDFLAGS}\"\n"
    "run = ['${OUT}']\n";

// A plan, its builds, and its build's binaries as a test wants them.
struct Case {
  explicit Case(const std::string& text)
      : plan(plan::good_plan(text)),
        expansion(plan::expand(plan)),
        builds(collect_builds(plan, expansion)) {
    for (std::size_t i = 0; i < builds.slots.size(); ++i) {
      builds.slots[i].usable = true;
      builds.slots[i].binary_sha256 = "binary " + std::to_string(i);
    }
  }
  // All slots with this level of the factor get this binary.
  void give(std::size_t factor, const std::string& level, const std::string& binary) {
    for (BuildSlot& slot : builds.slots)
      if (slot.levels[factor] == level) slot.binary_sha256 = binary;
  }
  [[nodiscard]] std::string reason() const { return find_identical(plan, builds).value_or(""); }

  plan::Plan plan;
  plan::Expansion expansion;
  Builds builds;
};

TEST(CollectBuilds, TrialsThatDifferOnlyInHowTheyRunShareABuild) {
  const Case all(plan::with_build + few + opt + sizes);
  ASSERT_EQ(all.expansion.trials.size(), 12U);
  ASSERT_EQ(all.builds.slots.size(), 2U);
  ASSERT_EQ(all.builds.of_trial.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    const auto& slot = all.builds.slots.at(static_cast<std::size_t>(all.builds.of_trial[i]));
    const std::string level = all.expansion.trials[i].levels[0].name;
    EXPECT_THAT(slot.levels, ElementsAre(level, ""));
    EXPECT_THAT(slot.command, HasSubstr("-" + level));
  }
}

const std::string by_szc =
    "[experiment]\nname = 't'\n[[benchmark]]\nname = 'b'\n"
    "build = 'szc ${CFLAGS} -o ${OUT} b.c ${LDFLAGS}'\nrun = ['${OUT}']\n";

std::vector<HeapTest> tests_of(const Case& all) {
  return heap_tests(all.plan, all.expansion, all.builds);
}

TEST(HeapTests, PairsHaveATrialOfEachProgramAndAreAFifthOfAllRuns) {
  const Case all(by_szc + "[defaults]\nrepetitions = 40\n" + opt + sizes + orders);
  const auto tests = tests_of(all);
  ASSERT_EQ(tests.size(), 1U);
  EXPECT_EQ(tests[0].why_none, "");
  EXPECT_THAT(tests[0].versions, ::testing::UnorderedElementsAre("b O1", "b O2"));
  // 160 trials, in which either program runs with and without the layer.
  ASSERT_EQ(tests[0].pairs.size(), 8U);
  std::set<std::uint32_t> positions;
  for (const auto& pair : tests[0].pairs) {
    ASSERT_EQ(pair.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ("b " + all.expansion.trials[pair[i]].levels[0].name, tests[0].versions[i]);
      positions.insert(pair[i]);
    }
  }
  EXPECT_EQ(positions.size(), 16U);
  const Case many(by_szc + "[defaults]\nrepetitions = 1000\n" + opt);
  EXPECT_EQ(tests_of(many).at(0).pairs.size(), 10U);
}

// A plain trial runs without the layer, so a test run like it would speak against the layer.
TEST(HeapTests, NoneIsLikeAPlainTrial) {
  const Case all(by_szc + "[defaults]\nrepetitions = 200\n" + opt + "[analysis]\ncost = true\n");
  const auto tests = tests_of(all);
  ASSERT_EQ(tests.size(), 1U);
  ASSERT_EQ(tests[0].pairs.size(), 10U);
  for (const auto& pair : tests[0].pairs) {
    ASSERT_EQ(pair.size(), 2U);
    EXPECT_EQ(all.expansion.trials[pair[0]].block, all.expansion.trials[pair[1]].block);
    for (const std::uint32_t position : pair) EXPECT_FALSE(all.expansion.trials[position].plain);
  }
}

TEST(HeapTests, SayWhyThereAreNone) {
  const std::string twenty = "[defaults]\nrepetitions = 20\n";
  const auto why = [](const std::string& text) {
    const auto tests = tests_of(Case(text));
    if (tests.size() != 1) return std::string("nothing is tested");
    EXPECT_EQ(tests[0].pairs.empty(), !tests[0].why_none.empty());
    return tests[0].why_none;
  };
  EXPECT_EQ(why(by_szc + twenty + opt), "");
  EXPECT_EQ(why(by_szc + few + opt), "the plan has too few trials for test runs");
  EXPECT_EQ(why(plan::with_build + twenty + opt), "szc does not build all versions of the program");
  EXPECT_EQ(why(plan::smallest + "repetitions = 20\n"),
            "szc does not build all versions of the program");
  Case lost(by_szc + twenty + opt);
  lost.builds.slots[0].usable = false;
  EXPECT_TRUE(tests_of(lost).empty()) << "its trials don't run";
}

TEST(CollectBuilds, TheyComeInTheOrderInWhichTrialsNeedThem) {
  const Case all(plan::with_build + few + opt + orders);
  std::int64_t highest = -1;
  for (const std::int64_t slot : all.builds.of_trial) {
    EXPECT_LE(slot, highest + 1);
    highest = std::max(highest, slot);
  }
  EXPECT_EQ(highest + 1, std::int64_t(all.builds.slots.size()));
}

TEST(CollectBuilds, TheCommandStillHoldsWhatTheWorkerKnows) {
  const Case all(plan::with_build + few + opt);
  for (const BuildSlot& slot : all.builds.slots)
    EXPECT_THAT(slot.command, AllOf(HasSubstr("${OUT}"), Not(HasSubstr("${CFLAGS}"))));
}

TEST(CollectBuilds, ABenchmarkWithoutABuildHasNone) {
  const Case all(plan::smallest + few);
  EXPECT_TRUE(all.builds.slots.empty());
  EXPECT_THAT(all.builds.of_trial, ElementsAre(-1, -1, -1));
}

TEST(CollectBuilds, EveryBlocksLinkOrderIsABuildOfItsOwn) {
  const Case all(plan::with_build + few + opt + orders);
  EXPECT_EQ(all.builds.slots.size(), 6U);
  std::set<std::string> commands;
  for (const BuildSlot& slot : all.builds.slots) commands.insert(slot.command);
  EXPECT_EQ(commands.size(), 6U);
}

TEST(CollectBuilds, TwoBenchmarksWithOneCommandAreBuiltEach) {
  const Case all(plan::with_build +
                 "[[benchmark]]\nname = 'c'\nbuild = \"cc ${CFLAGS} -o ${OUT} b.c ${LDFLAGS}\"\n"
                 "run = ['${OUT}']\n" +
                 few);
  ASSERT_EQ(all.builds.slots.size(), 2U);
  EXPECT_EQ(all.builds.slots[0].command, all.builds.slots[1].command);
  EXPECT_NE(all.builds.slots[0].benchmark, all.builds.slots[1].benchmark);
  for (std::size_t i = 0; i < all.builds.of_trial.size(); ++i)
    EXPECT_EQ(all.builds.slots.at(static_cast<std::size_t>(all.builds.of_trial[i])).benchmark,
              all.expansion.trials[i].benchmark);
}

TEST(CollectBuilds, NothingIsKnownOfThemYet) {
  const plan::Plan plan = plan::good_plan(plan::with_build + few);
  const Builds builds = collect_builds(plan, plan::expand(plan));
  ASSERT_EQ(builds.slots.size(), 1U);
  EXPECT_FALSE(builds.slots[0].usable);
  EXPECT_EQ(builds.slots[0].key + builds.slots[0].out + builds.slots[0].binary_sha256, "");
}

TEST(FindIdentical, DifferentBinariesAreFine) {
  EXPECT_EQ(Case(plan::with_build + few + opt + orders).reason(), "");
}

TEST(FindIdentical, TwoLevelsWithOneBinaryAreRefusedWithTheirNames) {
  Case all(plan::with_build + few + opt);
  all.give(0, "O1", "same");
  all.give(0, "O2", "same");
  EXPECT_THAT(all.reason(), AllOf(HasSubstr("'b'"), HasSubstr("opt = O1"), HasSubstr("opt = O2"),
                                  HasSubstr("identical")));
}

TEST(FindIdentical, OneCellWithOneBinaryFailsNothing) {
  Case all(plan::with_build + few + opt + lto);
  ASSERT_EQ(all.builds.slots.size(), 4U);
  for (BuildSlot& slot : all.builds.slots)
    if (slot.levels[0] == "O2") slot.binary_sha256 = "same";
  EXPECT_EQ(all.reason(), "");
  for (BuildSlot& slot : all.builds.slots) slot.binary_sha256 = slot.levels[0];
  EXPECT_THAT(all.reason(), HasSubstr("lto = o"));
}

TEST(FindIdentical, OneBenchmarkWithOneBinaryFailsNothing) {
  Case all(plan::with_build + second_benchmark + few + opt);
  for (BuildSlot& slot : all.builds.slots)
    if (slot.benchmark == 0) slot.binary_sha256 = "same";
  EXPECT_EQ(all.reason(), "");
  for (BuildSlot& slot : all.builds.slots) slot.binary_sha256 = "same";
  EXPECT_THAT(all.reason(), HasSubstr("of each built benchmark are identical with opt = O1"));
  for (BuildSlot& slot : all.builds.slots) slot.usable = slot.levels[0] == "O1";
  EXPECT_EQ(all.reason(), "") << "no pair is left to compare";
}

TEST(FindIdentical, CellsThatDifferInTwoFactorsMayAgree) {
  Case all(plan::with_build + few + opt + lto);
  for (BuildSlot& slot : all.builds.slots)
    if ((slot.levels[0] == "O2") == (slot.levels[1] == "on")) slot.binary_sha256 = "same";
  EXPECT_EQ(all.reason(), "");
}

TEST(FindIdentical, TwoBenchmarksMayHaveOneBinary) {
  Case all(plan::with_build + second_benchmark + few + opt);
  all.give(0, "O1", "one");
  all.give(0, "O2", "two");
  EXPECT_EQ(all.reason(), "");
}

TEST(FindIdentical, AFailedBuildAndOneWithoutABinaryAreNotCompared) {
  Case all(plan::with_build + few + opt);
  all.give(0, "O1", "");
  all.give(0, "O2", "");
  EXPECT_EQ(all.reason(), "");
  all.give(0, "O1", "same");
  all.give(0, "O2", "same");
  all.builds.slots[0].usable = false;
  EXPECT_EQ(all.reason(), "");
}

TEST(FindIdentical, SomeRandomOrdersMayAgreeButNotAll) {
  Case all(plan::with_build + few + orders);
  ASSERT_EQ(all.builds.slots.size(), 3U);
  all.builds.slots[0].binary_sha256 = "same";
  all.builds.slots[2].binary_sha256 = "same";
  EXPECT_EQ(all.reason(), "");
  all.builds.slots[1].binary_sha256 = "same";
  EXPECT_THAT(all.reason(), HasSubstr("link_order = "));
}

TEST(FindIdentical, RandomOrdersThatDoNothingAtOneLevelFailNothing) {
  Case all(plan::with_build + few + opt + orders);
  all.give(0, "O2", "same");
  EXPECT_EQ(all.reason(), "");
  all.give(0, "O1", "another");
  EXPECT_THAT(all.reason(), HasSubstr("link_order = "));
}

// The binaries are identical, but the trials are not.
TEST(FindIdentical, LevelsThatTrialsUseInAnotherWayAreNotRefused) {
  const std::string start =
      "[experiment]\nname = 'x'\n[[benchmark]]\nname = 'b'\nbuild = 'cc ${MODE} -o ${OUT}'\n";
  const std::string mode = "[factor.mode]\nlevels = { a = { MODE = '1' }, b = { MODE = '2' } }\n";
  const auto reason_for = [&](const std::string& run) {
    Case all(start + run + few + mode);
    all.give(0, "a", "same");
    all.give(0, "b", "same");
    return all.reason();
  };
  EXPECT_THAT(reason_for("run = ['${OUT}']\n"), HasSubstr("identical"));
  for (const char* run :
       {"run = ['${OUT}', '${MODE}']\n", "run = ['${OUT}', '${DIR}/lib.so']\n",
        "run = ['${OUT}', '${LIBRARY}']\n[variables]\nLIBRARY = '${DIR}/lib.so'\n",
        "run = ['${OUT}']\nprepare = 'cp ${DIR}/data.txt /tmp'\n"})
    EXPECT_EQ(reason_for(run), "") << run;
}

TEST(FindIdentical, OneRandomOrderHasNothingToDifferFrom) {
  Case all(plan::with_build + "[defaults]\nrepetitions = 1\n" + orders);
  ASSERT_EQ(all.builds.slots.size(), 1U);
  EXPECT_EQ(all.reason(), "");
}

}  // namespace
}  // namespace stab::daemon
