// SPDX-License-Identifier: MIT
#include "revisions/revisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/testing.h"
#include "base/text.h"
#include "machine/processes.h"

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

// A build takes what is newer than its sources for up to date.
TEST_F(Revisions, UntrackedFilesAreOlderThanTrackedOnesAndProductsOldest) {
  write("repo/new.c", "int x;\n");
  write("repo/made/new.o", "\x7f\x45LF1");
  write("repo/libold.a", "!<arch>\n");
  ASSERT_TRUE(check_out(".", "tree"));
  const auto written = [&](const char* name) { return fs::last_write_time(folder_ / name); };
  EXPECT_LT(written("tree/new.c"), written("tree/kept"));
  EXPECT_LT(written("tree/made/new.o"), written("tree/new.c"));
  EXPECT_LT(written("tree/libold.a"), written("tree/new.c"));
}

TEST_F(Revisions, SayWhetherTheWorkingTreeIsACommit) {
  EXPECT_TRUE(is_working_tree(repository(), "HEAD").value());
  EXPECT_FALSE(is_working_tree(repository(), "main").value());
  write("repo/ignored", "x\n");
  EXPECT_TRUE(is_working_tree(repository(), "HEAD").value());
  write("repo/new", "x\n");
  EXPECT_FALSE(is_working_tree(repository(), "HEAD").value());
}

// For example after a copy of the repository, or after an edit that was taken back.
TEST_F(Revisions, ANewTimeOfAFileIsNotAChange) {
  write("repo/binary", std::string("\0\1\2", 3));
  git("repo", "add -A && git commit -qm three");
  for (const char* name : {"repo/kept", "repo/binary", "repo/lib/part/inner"})
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_TRUE(is_working_tree(repository(), "HEAD").value());
  write("repo/binary", std::string("\0\1\3", 3));
  EXPECT_FALSE(is_working_tree(repository(), "HEAD").value());
  write("repo/binary", std::string("\0\1\2", 3));
  fs::permissions(folder_ / "repo/kept", fs::perms::owner_exec, fs::perm_options::add);
  EXPECT_FALSE(is_working_tree(repository(), "HEAD").value()) << "its mode has changed";
}

TEST_F(Revisions, ASubmoduleThatIsNotThereIsNamed) {
  git("repo", "submodule --quiet deinit -f lib/part");
  int tries = 0;
  const auto refused = [&](const std::string& revision) {
    const auto there = check_out(revision, "not-" + std::to_string(++tries));
    ASSERT_FALSE(there) << revision;
    EXPECT_THAT(there.error().message, HasSubstr("git submodule update --init 'lib/part'"));
    EXPECT_FALSE(is_whole(repository(), revision));
  };
  refused(std::string(working_tree));
  ASSERT_TRUE(check_out("main", "1")) << "its objects are there";
  fs::remove_all(folder_ / "repo/.git/modules");
  refused(commit_of(repository(), "main").value());
  fs::create_directories(folder_ / "repo/lib/part/.git");
  refused(std::string(working_tree));
  refused(commit_of(repository(), "main").value());
}

TEST_F(Revisions, WhatIsNotNamedIsTheWorkingTreeAndWhereItLeftMain) {
  EXPECT_THAT(revisions_to_compare({"main"}, repository()).value(), ElementsAre("main", "."));
  const auto both = revisions_to_compare({}, repository()).value();
  ASSERT_THAT(both, SizeIs(2));
  ASSERT_TRUE(check_out(both[0], "1"));
  EXPECT_EQ(at("1/kept"), "old\n");
  EXPECT_EQ(both[1], working_tree);
  EXPECT_EQ(revisions_to_compare({std::string(working_tree)}, repository()).value(), both);
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

// The index still has a submodule whose folder the last commit has as a link to somewhere else.
TEST_F(Revisions, NothingOutsideOfTheCopyIsRemovedOrWritten) {
  write("outside/sub", "mine\n");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "repo/d");
  git("repo",
      "add d && git commit -qm link && git rm -q --cached d && rm d && "
      "git -c protocol.file.allow=always submodule --quiet add " +
          shell_quote(folder_ / "part") + " d/sub");
  const auto there = check_out(std::string(working_tree), "1");
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_EQ(at("outside/sub"), "mine\n");
  EXPECT_EQ(at("1/d/sub/inner"), "1\n");
  // And when the link is back in the working tree.
  fs::remove_all(folder_ / "repo/d");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "repo/d");
  ASSERT_TRUE(check_out(std::string(working_tree), "2"));
  EXPECT_EQ(at("outside/sub"), "mine\n");
  EXPECT_TRUE(fs::is_symlink(folder_ / "2/d"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "outside"), fs::directory_iterator()),
            1);
}

TEST(RevisionFiles, AreAWayBelowTheTopAndNothingOfGit) {
  for (const char* good : {"a", "a/b", ".gitignore", "a..b"}) EXPECT_TRUE(is_way(good)) << good;
  for (const char* bad : {"", "/a", "..", "a/../b", ".git", "a/.GIT/hooks"})
    EXPECT_FALSE(is_way(bad)) << bad;
}

TEST_F(Revisions, ASubmoduleHasNoPlaceBehindALinkOrOnAFile) {
  fs::create_directories(folder_ / "copy/empty");
  fs::create_directories(folder_ / "outside");
  write("copy/file", "");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "copy/link");
  for (const char* good : {"empty", "new", "empty/new"})
    EXPECT_TRUE(has_place(folder_ / "copy", good)) << good;
  for (const char* bad : {"file", "link", "link/new", "../outside", ".git"})
    EXPECT_FALSE(has_place(folder_ / "copy", bad)) << bad;
}

// The working tree is what is there, whatever git was told to make of it.
TEST_F(Revisions, TheWorkingTreeIsItsBytesWhateverTheRepositorysSettingsAre) {
  write("repo/.gitattributes", "filtered filter=upper\ncrlf text eol=crlf\n");
  write("repo/filtered", "small\n");
  write("repo/crlf", "1\r\n");
  write("repo/skipped", "old\n");
  git("repo",
      "config filter.upper.clean 'tr a-z A-Z' && git config filter.upper.smudge "
      "'tr A-Z a-z' && git add -A && git commit -qm attributes && "
      "git update-index --assume-unchanged kept && git update-index --skip-worktree "
      "skipped");
  write("repo/kept", "assumed\n");
  write("repo/skipped", "new\n");
  write("repo/crlf", "1\n");
  ASSERT_TRUE(check_out(std::string(working_tree), "1"));
  EXPECT_EQ(at("1/filtered"), "small\n");
  EXPECT_EQ(at("1/kept"), "assumed\n");
  EXPECT_EQ(at("1/skipped"), "new\n");
  EXPECT_EQ(at("1/crlf"), "1\n");
  // A commit is what a checkout there makes of it.
  ASSERT_TRUE(check_out("HEAD", "2"));
  EXPECT_EQ(at("2/filtered"), "small\n");
  EXPECT_EQ(at("2/crlf"), "1\r\n");
}

TEST_F(Revisions, APipeInANestedFolderIsLeftOut) {
  fs::create_directories(folder_ / "repo/nested");
  git("repo/nested", "init -q .");
  write("repo/nested/file", "1\n");
  ASSERT_EQ(mkfifo((folder_ / "repo/nested/pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((folder_ / "repo/pipe").c_str(), 0600), 0);
  const auto there = check_out(std::string(working_tree), "1");
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_EQ(at("1/nested/file"), "1\n");
  EXPECT_FALSE(fs::exists(folder_ / "1/nested/pipe"));
}

// As a CI has them.
TEST_F(Revisions, AShallowCloneOfADetachedCommitIsEnough) {
  git("repo",
      "checkout -q --detach && echo 3 >kept && git commit -qam three && git tag v3 2>../said");
  const std::string commit = commit_of(repository(), "v3").value();
  git("", "clone -q --depth 1 --branch v3 file://" + shell_quote(folder_ / "repo") +
              " shallow 2>said && cd shallow && git tag -d v3 >../said");
  for (const char* way : {"shallow", "repo"}) {
    const auto there = revisions::check_out(
        folder_ / way, {.folder = folder_ / (std::string("of-") + way), .revision = commit});
    if (std::string(way) == "shallow") {
      ASSERT_FALSE(there) << "its submodule is not there";
      EXPECT_THAT(there.error().message, HasSubstr("git submodule update --init 'lib/part'"));
      continue;
    }
    ASSERT_TRUE(there) << there.error().message;
  }
  git("shallow", "rm -q lib/part && git commit -qm 'without it'");
  write("shallow/kept", "not committed\n");
  ASSERT_TRUE(revisions::check_out(folder_ / "shallow", {folder_ / "1", "HEAD"}));
  EXPECT_EQ(at("1/kept"), "3\n");
  ASSERT_TRUE(revisions::check_out(folder_ / "shallow", {folder_ / "2", "."}));
  EXPECT_EQ(at("2/kept"), "not committed\n");
  EXPECT_EQ(at("of-repo/kept"), "3\n");
}

// Nothing is fetched while it is measured, so what is missing is said before.
TEST_F(Revisions, APartialCloneThatLacksFilesSaysHowToGetThem) {
  git("repo",
      "rm -q lib/part && git commit -qm three && echo 4 >kept && git commit -qam four && "
      "git config uploadpack.allowFilter true");
  git("", "clone -q --filter=blob:none file://" + shell_quote(folder_ / "repo") + " partial");
  const std::string partial = folder_ / "partial";
  EXPECT_TRUE(is_whole(partial, commit_of(partial, "HEAD").value()));
  const std::string before = commit_of(partial, "HEAD~1").value();
  const auto lacks = is_whole(partial, before);
  ASSERT_FALSE(lacks);
  EXPECT_THAT(lacks.error().message, HasSubstr("archive " + before + " >/dev/null"));
  git("partial", "archive " + before + " >/dev/null");
  EXPECT_TRUE(is_whole(partial, before));
  ASSERT_TRUE(revisions::check_out(partial, {folder_ / "1", before}));
  EXPECT_EQ(at("1/kept"), "committed\n");
}

// What a build may ask git in a copy.
TEST_F(Revisions, ACopyKnowsTheTagsAndItsCommit) {
  git("repo", "tag v1 main && git tag -a -m two v2 branch");
  ASSERT_TRUE(check_out("branch", "1"));
  ASSERT_TRUE(check_out(std::string(working_tree), "2"));
  for (const char* copy : {"1", "2"}) git(copy, "describe --dirty >../said-" + std::string(copy));
  EXPECT_EQ(at("said-1"), "v2\n");
  EXPECT_EQ(at("said-2"), "v2\n");
}

TEST_F(Revisions, NothingOfTheRepositoryIsWritten) {
  write("repo/kept", "committed\n");  // as it is, but its time in the index is another
  const auto before = fs::last_write_time(folder_ / "repo/.git/index");
  const std::string index = read_file(folder_ / "repo/.git/index", 1 << 20).value();
  const auto folder_before = fs::last_write_time(folder_ / "repo/.git");
  ASSERT_TRUE(check_out(std::string(working_tree), "1"));
  ASSERT_TRUE(check_out("main", "2"));
  ASSERT_TRUE(is_whole(repository(), std::string(working_tree)));
  EXPECT_EQ(read_file(folder_ / "repo/.git/index", 1 << 20).value(), index);
  EXPECT_EQ(fs::last_write_time(folder_ / "repo/.git/index"), before);
  // A lock would have come and gone in it.
  EXPECT_EQ(fs::last_write_time(folder_ / "repo/.git"), folder_before);
}

TEST_F(Revisions, APathInASubmoduleIsThere) {
  const std::string commit = commit_of(repository(), "main").value();
  EXPECT_TRUE(has(repository(), commit, "lib/part").value());
  EXPECT_TRUE(has(repository(), commit, "lib/part/inner").value());
  EXPECT_FALSE(has(repository(), commit, "lib/part/outer").value());
}

// Its objects stay where git keeps them.
TEST_F(Revisions, ASubmoduleThatOnlyAnOldCommitHasIsThere) {
  git("repo", "rm -q lib/part && git commit -qm 'without it'");
  ASSERT_FALSE(fs::exists(folder_ / "repo/lib/part"));
  const std::string commit = commit_of(repository(), "main").value();
  ASSERT_TRUE(is_whole(repository(), commit));
  EXPECT_TRUE(has(repository(), commit, "lib/part/inner").value());
  const auto there = check_out("main", "1");
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_EQ(at("1/lib/part/inner"), "1\n");
  fs::remove_all(folder_ / "repo/.git/modules");
  const auto gone = is_whole(repository(), commit);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message,
              HasSubstr("git checkout " + commit + " && git submodule update --init 'lib/part'"));
}

TEST_F(Revisions, MayBeTheWordsOfACommit) {
  EXPECT_EQ(commit_of(repository(), ":/two").value(), commit_of(repository(), "branch").value());
  for (const char* wrong : {":/nothing", "^main", "main:kept", "main..branch"})
    EXPECT_FALSE(commit_of(repository(), wrong)) << wrong;
}

}  // namespace
}  // namespace stab::revisions
