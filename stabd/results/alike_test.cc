// SPDX-License-Identifier: MIT
#include "stabd/results/alike.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/testing.h"
#include "stats/decide.h"

namespace stab::results {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const std::string second =
    "[[benchmark]]\nname = 'c'\nbuild = \"cc ${CFLAGS} -o ${OUT} b.c ${LDFLAGS}\"\n"
    "run = ['${OUT}']\n";
const std::string levels =
    "[defaults]\nrepetitions = 3\n"
    "[factor.opt]\nlevels = { O1 = { CFLAGS = '-O1' }, O2 = { CFLAGS = '-O2' } }\n";

struct Case {
  explicit Case(const std::string& text)
      : plan(plan::good_plan(text)), expansion(plan::expand(plan)) {
    for (const plan::Trial& trial : expansion.trials)
      add(plan.benchmarks[trial.benchmark].name, plan::resolve(plan, trial).build);
  }
  // Each command its own binary.
  void add(const std::string& benchmark, const std::string& command) {
    for (const store::Build& known : builds)
      if (known.benchmark == benchmark && known.command == command) return;
    builds.push_back({.benchmark = benchmark,
                      .command = command,
                      .status = store::BuildStatus::built,
                      .binary_sha256 = command});
  }
  void make_alike(const std::string& benchmark) {
    for (store::Build& build : builds)
      if (build.benchmark == benchmark) build.binary_sha256 = "same";
  }
  [[nodiscard]] std::vector<Alike> found() const { return alike_levels(plan, expansion, builds); }

  plan::Plan plan;
  plan::Expansion expansion;
  std::vector<store::Build> builds;
};

stats::Effect effect_of(const std::string& subject, double p) {
  stats::Effect effect{.subject = subject, .treatment = "opt", .baseline = "O1", .level = "O2"};
  effect.ratio = 0.99;
  effect.low = 0.98;
  effect.high = 0.999;
  effect.p = p;
  return effect;
}

TEST(Alike, IsABenchmarkWhoseBinariesAreTheSame) {
  Case both(plan::with_build + second + levels);
  EXPECT_TRUE(both.found().empty());
  both.make_alike("c");
  ASSERT_EQ(both.found().size(), 1U);
  const Alike alike = both.found().front();
  EXPECT_EQ(alike.benchmark + alike.treatment + alike.first + alike.second, "coptO1O2");
}

TEST(Alike, IsNotWhatIsRunInAnotherWayOrFromItsFolder) {
  Case runs(
      "[experiment]\nname = 'x'\n[[benchmark]]\nname = 'b'\nbuild = 'cc ${MODE} -o ${OUT}'\n"
      "run = ['${OUT}', '${MODE}']\n[factor.mode]\n"
      "levels = { a = { MODE = '1' }, b = { MODE = '2' } }\n");
  runs.make_alike("b");
  EXPECT_TRUE(runs.found().empty());
  Case tree(
      "[experiment]\nname = 'x'\n[[benchmark]]\nname = 'b'\nbuild = 'cc ${MODE} -o ${OUT}'\n"
      "run = ['${OUT}', '${DIR}/lib.so']\n[factor.mode]\n"
      "levels = { a = { MODE = '1' }, b = { MODE = '2' } }\n");
  tree.make_alike("b");
  EXPECT_TRUE(tree.found().empty());
}

TEST(Alike, NeedsEveryCellAndBuildsThatWorked) {
  Case cells(plan::with_build + levels +
             "[factor.lto]\nlevels = { on = { LDFLAGS = '-flto' }, off = { LDFLAGS = '' } }\n");
  for (store::Build& build : cells.builds)
    if (build.command.contains("-flto")) build.binary_sha256 = "same";
  EXPECT_TRUE(cells.found().empty());
  Case failed(plan::with_build + levels);
  failed.make_alike("b");
  EXPECT_EQ(failed.found().size(), 1U);
  failed.builds.front().status = store::BuildStatus::failed;
  EXPECT_TRUE(failed.found().empty());
}

TEST(Alike, GetsTheVerdictSameAndLeavesTheFamily) {
  stats::Analysis analysis;
  analysis.effects = {effect_of("b", 0.03), effect_of("c", 0.04)};
  stats::decide(analysis);
  EXPECT_EQ(analysis.effects[0].verdict, stats::Verdict::unsure);  // of two comparisons
  mark_alike(
      std::vector{Alike{.benchmark = "c", .treatment = "opt", .first = "O1", .second = "O2"}},
      analysis);
  EXPECT_EQ(analysis.effects[0].verdict, stats::Verdict::faster);  // of one
  EXPECT_EQ(analysis.effects[0].reason, "");
  const stats::Effect& same = analysis.effects[1];
  EXPECT_EQ(same.verdict, stats::Verdict::same);
  EXPECT_EQ(same.reason, "the binaries at opt = O1 and opt = O2 are identical");
  EXPECT_FALSE(same.p || same.p_adjusted);
  EXPECT_TRUE(same.ratio && same.low);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("c: the binaries at opt = O1")));
  EXPECT_FALSE(stats::findings(analysis).unsure);
}

TEST(Alike, WithoutAnyTheAnalysisStaysAsItIs) {
  stats::Analysis analysis;
  analysis.effects = {effect_of("b", 0.03)};
  analysis.answer = "as it was";
  mark_alike({}, analysis);
  EXPECT_EQ(analysis.answer, "as it was");
  EXPECT_TRUE(analysis.notes.empty());
}

}  // namespace
}  // namespace stab::results
