// SPDX-License-Identifier: MIT
#include "results/identical.h"

#include <gtest/gtest.h>

#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/reading/testing.h"

namespace stab::results {
namespace {

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
  [[nodiscard]] std::vector<stats::Alike> found() const {
    return alike_levels(plan, expansion, builds);
  }

  plan::Plan plan;
  plan::Expansion expansion;
  std::vector<store::Build> builds;
};

TEST(Alike, IsABenchmarkWhoseBinariesAreTheSame) {
  Case both(plan::with_build + second + levels);
  EXPECT_TRUE(both.found().empty());
  both.make_alike("c");
  ASSERT_EQ(both.found().size(), 1U);
  const stats::Alike alike = both.found().front();
  EXPECT_EQ(alike.subject + alike.treatment + alike.first + alike.second, "coptO1O2");
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

}  // namespace
}  // namespace stab::results
