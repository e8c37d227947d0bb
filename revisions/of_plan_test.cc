// SPDX-License-Identifier: MIT
#include "revisions/of_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <variant>

#include "base/testing.h"
#include "base/text.h"
#include "machine/processes.h"
#include "plan/reading/read_plan.h"
#include "revisions/revisions.h"

namespace stab::revisions {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string plan_with(const std::string& revisions, const std::string& more = "") {
  return "[experiment]\nname = \"p\"\n[[benchmark]]\nname = \"b\"\nbuild = \"cp b ${OUT}\"\n"
         "run = [\"${OUT}\"]\nrepetitions = 2\n" +
         more + "[factor.version]\nrevisions = " + revisions + "\n";
}

class OfPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(machine::adopt_orphans());
    folder_.write("repo/b", "1\n");
    git("init -q -b main . && git add -A && git commit -qm one && git tag v1.0");
    folder_.write("repo/part/b", "2\n");
    git("add -A && git commit -qm two");
  }
  void git(const std::string& words) const {
    const std::string command =
        "cd " + shell_quote(folder_ / "repo") +
        " && export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
        "GIT_COMMITTER_EMAIL=a@b && git " +
        words;
    ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(concurrency-mt-unsafe)
  }
  std::string error_of(const std::string& text, const std::string& in = "repo") const {
    const auto plan = with_commits(text, folder_ / in);
    return plan ? "no error" : plan.error().message;
  }

  test::Folder folder_;
};

TEST_F(OfPlan, AreCommitsBehindItsTextAndStayThose) {
  const std::string text = plan_with(R"(["v1.0", "main", "."])");
  const std::string one = commit_of(folder_ / "repo", "v1.0").value();
  const std::string two = commit_of(folder_ / "repo", "main").value();
  const auto resolved = with_commits(text, folder_ / "repo");
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_THAT(*resolved, StartsWith(text));
  EXPECT_THAT(*resolved, HasSubstr("\"v1.0\" = \"" + one + "\"\n"));

  EXPECT_THAT(unresolved(plan::read_plan(text).value()), HasSubstr("'v1.0' of factor.version"));
  folder_.write("repo/b", "3\n");
  git("commit -qam three");
  EXPECT_EQ(with_commits(*resolved, folder_ / "repo").value(), *resolved);
  const plan::Plan plan = plan::read_plan(*resolved).value();
  EXPECT_EQ(unresolved(plan), "");
  const auto& levels = std::get<plan::FixedLevels>(plan.factors.front().levels).levels;
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels[0].revision, one);
  EXPECT_EQ(levels[1].revision, two);
  EXPECT_EQ(levels[2].revision, working_tree);
}

TEST_F(OfPlan, OrThePlanIsNotTaken) {
  EXPECT_THAT(error_of(plan_with(R"(["main", "nowhere"])")),
              HasSubstr("nowhere is not a revision of the repository in"));
  EXPECT_THAT(error_of(plan_with(R"(["main", "."])"), ""),
              HasSubstr("must be in a git repository"));
  EXPECT_THAT(error_of(plan_with(R"(["v1.0", "."])"), "repo/part"),
              HasSubstr("the revision v1.0 does not contain part: choose revisions"));
  EXPECT_THAT(error_of(plan_with(R"(["v1.0", "."])", "sources = [\"b\", \"part/b\"]\n")),
              HasSubstr("the revision v1.0 does not contain part/b"));
  const std::string commit = commit_of(folder_ / "repo", "main").value();
  EXPECT_THAT(
      error_of(plan_with(R"(["main", "v1.0"])") + "[revisions]\nmain = \"" + commit + "\"\n"),
      HasSubstr("'revisions' lacks v1.0: add \"v1.0\" = "));
  EXPECT_THAT(error_of("revisions.main = \"" + commit + "\"\n" + plan_with(R"(["main", "v1.0"])")),
              HasSubstr("'revisions' lacks v1.0: add \"v1.0\" = "));
  EXPECT_EQ(error_of(plan_with(R"(["main", "v1.0"])") + "# [revisions]\n"), "no error");
}

TEST_F(OfPlan, WithoutRevisionsItStaysAsItIsWhereverItLies) {
  const std::string plain =
      "[experiment]\nname = \"p\"\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\nrepetitions = "
      "2\n";
  EXPECT_EQ(with_commits(plain, "/nowhere").value(), plain);
  EXPECT_EQ(with_commits("no plan", "/nowhere").value(), "no plan");
}

// One commit under two names is no comparison.
TEST_F(OfPlan, TwoNamesOfACommitAreAProblemOfThePlan) {
  const auto resolved = with_commits(plan_with(R"(["main", "HEAD"])"), folder_ / "repo");
  ASSERT_TRUE(resolved);
  const auto plan = plan::read_plan(*resolved);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().front().message, HasSubstr("are the same revision"));
}

}  // namespace
}  // namespace stab::revisions
