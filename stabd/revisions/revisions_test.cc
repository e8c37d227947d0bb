// SPDX-License-Identifier: MIT
#include "stabd/revisions/revisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "machine/processes.h"
#include "stabd/testing.h"

namespace stab::revisions {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class Revisions : public ::testing::Test {
 protected:
  // A repository with a submodule, and a branch that left main.
  void SetUp() override {
    ASSERT_TRUE(machine::adopt_orphans());
    fs::create_directories(folder_ / "part");
    fs::create_directories(folder_ / "repo");
    write("part/inner", "1\n");
    git("part", "init -q -b main . && git add -A && git commit -qm part");
    write("repo/kept", "old\n");
    write("repo/gone", "here\n");
    write("repo/.gitignore", "ignored\n");
    git("repo", "init -q -b main . && git -c protocol.file.allow=always submodule --quiet add " +
                    shell_quote(folder_ / "part") +
                    " lib/part && git add -A && git commit -qm one "
                    "&& git checkout -qb branch");
    write("repo/kept", "committed\n");
    git("repo", "commit -qam two");
  }
  void write(const std::string& name, const std::string& text) { folder_.write(name, text); }
  // What follows `git`, in a folder.
  void git(const std::string& where, const std::string& words) {
    const std::string command =
        "cd " + shell_quote(folder_ / where) +
        " && export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
        "GIT_COMMITTER_EMAIL=a@b && git " +
        words;
    ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(concurrency-mt-unsafe)
  }
  std::string at(const std::string& name) const {
    return read_file(folder_ / name, 1000).value_or("none");
  }
  std::string repository() const { return folder_ / "repo"; }
  Result<void> check_out(const std::string& revision, const std::string& to) {
    return revisions::check_out(repository(), {.folder = folder_ / to, .revision = revision});
  }

  test::Folder folder_;
};

TEST_F(Revisions, ACommitHasItsFilesAndThoseOfItsSubmodules) {
  write("repo/kept", "not committed\n");
  write("repo/lib/part/inner", "not committed\n");
  ASSERT_TRUE(check_out("main", "1"));
  EXPECT_EQ(at("1/kept"), "old\n");
  EXPECT_EQ(at("1/lib/part/inner"), "1\n");
  ASSERT_TRUE(check_out("branch", "2"));
  EXPECT_EQ(at("2/kept"), "committed\n");
  // And the repository is as it was.
  EXPECT_EQ(at("repo/kept"), "not committed\n");
}

TEST_F(Revisions, TheWorkingTreeHasWhatIsNotCommitted) {
  write("repo/kept", "changed\n");
  write("repo/new", "new\n");
  write("repo/ignored", "ignored\n");
  write("repo/lib/part/inner", "2\n");
  fs::remove(folder_ / "repo/gone");
  const auto there = check_out(std::string(working_tree), "1");
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_EQ(at("1/kept"), "changed\n");
  EXPECT_EQ(at("1/new"), "new\n");
  EXPECT_EQ(at("1/lib/part/inner"), "2\n");
  EXPECT_FALSE(fs::exists(folder_ / "1/gone"));
  EXPECT_FALSE(fs::exists(folder_ / "1/ignored"));
}

TEST_F(Revisions, ASubmoduleThatIsNotThereIsNamed) {
  git("repo", "submodule --quiet deinit -f lib/part");
  const auto there = check_out("main", "1");
  ASSERT_FALSE(there);
  EXPECT_THAT(there.error().message, HasSubstr("git submodule update --init 'lib/part'"));
}

TEST_F(Revisions, WhatIsNotNamedIsTheWorkingTreeAndWhereItLeftMain) {
  EXPECT_THAT(revisions_to_compare({"main"}, repository()).value(), ElementsAre("main", "."));
  const auto both = revisions_to_compare({}, repository()).value();
  ASSERT_THAT(both, SizeIs(2));
  ASSERT_TRUE(check_out(both[0], "1"));
  EXPECT_EQ(at("1/kept"), "old\n");
  EXPECT_EQ(both[1], working_tree);
  for (const char* wrong : {"nothing", "--help", "kept"})
    EXPECT_FALSE(revisions_to_compare({wrong, "."}, repository())) << wrong;
  EXPECT_FALSE(revisions_to_compare({"main"}, folder_ / "")) << "no repository";
}

TEST_F(Revisions, ASubmoduleThatIsOnlyStagedIsThere) {
  git("repo", "-c protocol.file.allow=always submodule --quiet add " +
                  shell_quote(folder_ / "part") + " more");
  const auto there = check_out(std::string(working_tree), "1");
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_EQ(at("1/more/inner"), "1\n");
}

// Somebody's own files must never be touched.
TEST_F(Revisions, ALinkThatLeadsOutOfTheCopyIsNotFollowed) {
  write("outside/precious", "mine\n");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "repo/data");
  git("repo", "add -A && git commit -qm link");
  ASSERT_TRUE(check_out("branch", "1"));
  ASSERT_TRUE(check_out("branch", "2"));
  for (const char* path : {"data/precious", "data/", "data"})
    static_cast<void>(take_over({path}, folder_ / "2", folder_ / "1"));
  EXPECT_FALSE(take_over({"data/precious"}, folder_ / "2", folder_ / "1"));
  EXPECT_EQ(at("outside/precious"), "mine\n");
  EXPECT_TRUE(fs::is_symlink(folder_ / "1/data"));
}

TEST_F(Revisions, AHookOfAnotherRepositoryDoesNotMatter) {
  ASSERT_EQ(setenv("GIT_DIR", "/nowhere", 1), 0);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_TRUE(check_out("main", "1"));
  ASSERT_EQ(unsetenv("GIT_DIR"), 0);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(at("1/kept"), "old\n");
}

TEST_F(Revisions, AFolderOfTheRepositoryHasAWayFromItsTop) {
  EXPECT_EQ(way_from_top(repository()).value(), "");
  fs::create_directories(folder_ / "repo/a/b");
  EXPECT_EQ(way_from_top(folder_ / "repo/a/b").value(), "a/b/");
}

TEST_F(Revisions, SayWhetherACommitHasAPath) {
  const std::string commit = commit_of(repository(), "main").value();
  EXPECT_TRUE(has(repository(), commit, "kept").value());
  EXPECT_TRUE(has(repository(), commit, "").value());
  EXPECT_FALSE(has(repository(), commit, "nothing").value());
}

TEST_F(Revisions, FilesOfTheLastVersionReplaceThoseOfOthersAndNothingBesideThem) {
  ASSERT_TRUE(check_out("main", "1"));
  ASSERT_TRUE(check_out("branch", "2"));
  const std::string from = folder_ / "2";
  const std::string to = folder_ / "1";
  EXPECT_TRUE(take_over({"kept", "lib"}, from, to));
  EXPECT_EQ(at("1/kept"), "committed\n");
  for (const char* wrong : {"nothing", "../repo", "/etc", ".", "lib/../../repo"})
    EXPECT_FALSE(take_over({wrong}, from, to)) << wrong;
}

}  // namespace
}  // namespace stab::revisions
