// SPDX-License-Identifier: MIT
#include "worker/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>
#include <thread>

#include "base/streams.h"
#include "base/testing.h"
#include "worker/build_cache.h"

namespace stab::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SourcesTest : public ::testing::Test {
 protected:
  SourcesTest() {
    folder_.write("plan/main.c", "int main(void) { return 0; }\n");
    folder_.write("plan/lib/part.c", "int part;\n");
    fs::create_symlink("main.c", folder_ / "plan/link.c");
  }

  Result<Sources> take(const std::vector<std::string>& names = {}) {
    return take_sources(folder_ / "plan", names, folder_ / "cache");
  }
  std::string digest(const std::vector<std::string>& names = {}) {
    const auto taken = take(names);
    if (!taken) ADD_FAILURE() << taken.error().message;
    return taken ? taken->digest : "";
  }
  // Why the names are refused; "" if they are not.
  std::string refusal(const std::vector<std::string>& names) {
    const auto taken = take(names);
    return taken ? "" : taken.error().message;
  }

  test::Folder folder_;
};

TEST_F(SourcesTest, TheCopyHoldsWhatTheDirectoryHolds) {
  const auto taken = take();
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(fs::path(taken->path).parent_path(), folder_ / "cache");
  EXPECT_TRUE(fs::is_regular_file(taken->path + "/lib/part.c"));
  EXPECT_EQ(fs::read_symlink(taken->path + "/link.c"), "main.c");
  EXPECT_EQ(fs::file_size(taken->path + "/main.c"), fs::file_size(folder_ / "plan/main.c"));
}

TEST_F(SourcesTest, APlanBesideTheSourcesIsNone) {
  const std::string without = digest();
  folder_.write("plan/plan.toml", "# a comment\n[experiment]\nname = 'x'\n[[benchmark]]\n");
  EXPECT_EQ(digest(), without);
  folder_.write("plan/plan.toml", "# another\n[experiment]\nname = 'x'\n[[benchmark]]\n");
  const auto taken = take();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->digest, without);
  EXPECT_FALSE(fs::exists(taken->path + "/plan.toml"));
  EXPECT_EQ(taken->left_out, "plan.toml");
}

TEST_F(SourcesTest, APlanThatIsNamedIsASource) {
  folder_.write("plan/plan.toml", "[experiment]\nname = 'x'\n");
  const std::string before = digest({"main.c", "plan.toml"});
  folder_.write("plan/plan.toml", "[experiment]\nname = 'y'\n");
  EXPECT_NE(digest({"main.c", "plan.toml"}), before);
}

TEST_F(SourcesTest, WhatIsNotSurelyAPlanIsASource) {
  const std::string without = digest();
  folder_.write("plan/Cargo.toml", "[package]\nname = 'x'\n");
  const std::string with_package = digest();
  EXPECT_NE(with_package, without);
  for (const char* name : {"plan/plan.txt", "plan/lib/plan.toml"}) {
    folder_.write(name, "[experiment]\n[[benchmark]]\n");
    EXPECT_NE(digest(), with_package) << name;
    fs::remove(folder_ / name);
  }
  folder_.write("plan/settings.toml", "[experiment]\nspeed = 1\n");
  EXPECT_NE(digest(), with_package);
}

TEST_F(SourcesTest, FoldersOfRunsAndWhatStabctlWroteAreNoSources) {
  const std::string without = digest();
  folder_.write("plan/state/stabd.db", "x");
  folder_.write("plan/state/stabd.db-wal", "x");
  folder_.write("plan/state/stabd.log", "x");
  folder_.write("plan/state/worker.json", "x");
  EXPECT_EQ(digest(), without);
  // The files of a run on a cluster, and a draft of one.
  for (const char* name :
       {"allocations.json", "allocations.json.a1B2c3", "worker-1.json", "worker-12.json.a1B2c3"}) {
    folder_.write(std::string("plan/state/") + name, "x");
    EXPECT_EQ(digest(), without) << name;
  }
  for (const char* name : {"worker-.json", "worker-a.json", "other.json", "worker-1.json.a1B2c"}) {
    folder_.write(std::string("plan/state/") + name, "x");
    EXPECT_NE(digest(), without) << name;
    fs::remove((folder_ / "plan/state/") + name);
  }
  // A file of somebody else's: nothing of that folder is left out.
  folder_.write("plan/state/data", "x");
  EXPECT_NE(digest(), without);
  fs::remove(folder_ / "plan/state/data");
  folder_.write("plan/report.html", "x");
  EXPECT_NE(digest(), without);
  mark_as_output(folder_ / "plan/report.html");
  if (!is_marked_as_output(folder_ / "plan/report.html"))
    GTEST_SKIP() << "this file system has no attributes of users";
  EXPECT_EQ(digest(), without);
}

TEST_F(SourcesTest, UnchangedSourcesHaveTheSameDigestAndTheSameCopy) {
  const auto first = take();
  const auto second = take();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->digest, second->digest);
  EXPECT_EQ(first->path, second->path);
}

TEST_F(SourcesTest, TheDigestDoesNotDependOnWhereTheSourcesAre) {
  const std::string here = digest();
  fs::rename(folder_ / "plan", folder_ / "moved");
  const auto there = take_sources(folder_ / "moved", {}, folder_ / "cache");
  ASSERT_TRUE(there);
  EXPECT_EQ(there->digest, here);
}

TEST_F(SourcesTest, AChangedByteChangesTheDigestAndTheOldCopyStays) {
  const auto old = take();
  ASSERT_TRUE(old);
  folder_.write("plan/lib/part.c", "int Part;\n");
  const auto changed = take();
  ASSERT_TRUE(changed);
  EXPECT_NE(changed->digest, old->digest);
  EXPECT_EQ(fs::file_size(old->path + "/lib/part.c"), 10U);
  EXPECT_NE(changed->path, old->path);
}

TEST_F(SourcesTest, ARenamedFileChangesTheDigest) {
  const std::string before = digest();
  fs::rename(folder_ / "plan/lib/part.c", folder_ / "plan/lib/port.c");
  EXPECT_NE(digest(), before);
}

TEST_F(SourcesTest, AMovedBoundaryBetweenNameAndContentChangesTheDigest) {
  folder_.write("one/ab", "c");
  folder_.write("two/a", "bc");
  const auto one = take_sources(folder_ / "one", {}, folder_ / "cache");
  const auto two = take_sources(folder_ / "two", {}, folder_ / "cache");
  ASSERT_TRUE(one && two);
  EXPECT_NE(one->digest, two->digest);
}

TEST_F(SourcesTest, AChangedModeChangesTheDigest) {
  const std::string before = digest();
  fs::permissions(folder_ / "plan/main.c", fs::perms::owner_exec, fs::perm_options::add);
  EXPECT_NE(digest(), before);
}

TEST_F(SourcesTest, ALinkThatPointsElsewhereChangesTheDigest) {
  const std::string before = digest();
  fs::remove(folder_ / "plan/link.c");
  fs::create_symlink("lib/part.c", folder_ / "plan/link.c");
  EXPECT_NE(digest(), before);
}

TEST_F(SourcesTest, ALinkIsNotTheSameAsItsTarget) {
  const std::string before = digest();
  fs::remove(folder_ / "plan/link.c");
  fs::copy_file(folder_ / "plan/main.c", folder_ / "plan/link.c");
  EXPECT_NE(digest(), before);
}

TEST_F(SourcesTest, AnEmptyFolderCounts) {
  const std::string before = digest();
  fs::create_directory(folder_ / "plan/empty");
  EXPECT_NE(digest(), before);
}

TEST_F(SourcesTest, ATimeOfChangeDoesNotCount) {
  const std::string before = digest();
  fs::last_write_time(folder_ / "plan/main.c", fs::file_time_type::clock::now());
  EXPECT_EQ(digest(), before);
}

// Otherwise make would not see that a product is older than its source.
TEST_F(SourcesTest, CopiesAreAsOldAsTheirOriginals) {
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(folder_ / "plan/lib/part.c", now - std::chrono::hours(48));
  fs::last_write_time(folder_ / "plan/main.c", now - std::chrono::hours(24));
  for (const std::vector<std::string>& names :
       {std::vector<std::string>(), std::vector<std::string>{"lib", "main.c"}}) {
    const auto taken = take(names);
    ASSERT_TRUE(taken) << taken.error().message;
    ASSERT_TRUE(copy_tree(taken->path, folder_ / "tree"));
    for (const char* file : {"/lib/part.c", "/main.c"}) {
      const auto time = fs::last_write_time((folder_ / "plan") + file);
      EXPECT_TRUE(fs::last_write_time(taken->path + file) == time) << file;
      EXPECT_TRUE(fs::last_write_time((folder_ / "tree") + file) == time) << file;
    }
  }
}

TEST_F(SourcesTest, OnlyTheNamedSourcesAreTaken) {
  const auto taken = take({"lib", "./main.c"});
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_TRUE(fs::is_regular_file(taken->path + "/lib/part.c"));
  EXPECT_TRUE(fs::is_regular_file(taken->path + "/main.c"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(taken->path + "/link.c")));
  folder_.write("plan/other.c", "not named");
  EXPECT_EQ(digest({"lib", "./main.c"}), taken->digest);
}

TEST_F(SourcesTest, AFolderMayBeNamedWithASlashOrAsADot) {
  EXPECT_EQ(digest({"lib/"}), digest({"lib"}));
  EXPECT_EQ(digest({"lib/../lib"}), digest({"lib"}));
  EXPECT_EQ(digest({"."}), digest());
}

TEST_F(SourcesTest, ANameOutsideOfTheDirectoryIsRefused) {
  folder_.write("secret.c", "no");
  for (const char* name : {"../secret.c", "..", "lib/../../secret.c", "lib/../.."})
    EXPECT_THAT(refusal({name}), HasSubstr("outside the plan's directory")) << name;
}

TEST_F(SourcesTest, AnAbsoluteNameIsRefused) {
  EXPECT_THAT(refusal({"/etc/passwd"}), HasSubstr("outside the plan's directory"));
  EXPECT_THAT(refusal({folder_ / "plan/main.c"}), HasSubstr("outside the plan's directory"));
}

TEST_F(SourcesTest, AMissingNameIsRefusedAndNothingIsLeftBehind) {
  EXPECT_THAT(refusal({"main.c", "missing.c"}), HasSubstr("missing.c does not exist"));
  EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
}

TEST_F(SourcesTest, AMissingDirectoryIsAnError) {
  EXPECT_FALSE(take_sources(folder_ / "nowhere", {}, folder_ / "cache"));
}

TEST_F(SourcesTest, TheHistoryIsLeftOut) {
  const std::string before = digest();
  folder_.write("plan/.git/config", "history");
  folder_.write("plan/lib/.git", "gitdir: ../.git/modules/lib");
  EXPECT_EQ(digest(), before);
  folder_.write("plan/.gitignore", "x");
  EXPECT_NE(digest(), before);
}

TEST_F(SourcesTest, TheCacheItselfIsLeftOut) {
  const std::string before = digest();
  const std::string cache = folder_ / "plan/lib/cache";
  for (int i = 0; i < 2; ++i) {
    const auto taken = take_sources(folder_ / "plan", {}, cache);
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_EQ(taken->digest, before);
    EXPECT_FALSE(fs::exists(taken->path + "/lib/cache"));
  }
}

TEST_F(SourcesTest, WhatIsNeitherFileNorFolderNorLinkIsLeftOut) {
  const std::string before = digest();
  ASSERT_EQ(mkfifo((folder_ / "plan/fifo").c_str(), 0600), 0);
  EXPECT_EQ(digest(), before);
  EXPECT_THAT(refusal({"fifo"}), HasSubstr("does not exist"));
}

TEST_F(SourcesTest, TooManyBytesAreRefusedBeforeTheyAreCopied) {
  folder_.write("plan/huge", "");
  fs::resize_file(folder_ / "plan/huge", max_source_bytes + 1);
  EXPECT_THAT(refusal({}), HasSubstr("more than 20000 files or 512 MiB"));
  EXPECT_THAT(refusal({"huge"}), HasSubstr("list the files that the build reads"));
  EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
  EXPECT_EQ(refusal({"main.c"}), "");
}

TEST_F(SourcesTest, TooManyFilesAreRefused) {
  // A file counts as often as it is named: 200 are quicker to make than 20,000.
  for (int i = 0; i < 200; ++i) folder_.write("plan/many/" + std::to_string(i), "");
  std::vector<std::string> names(max_source_files / 200, "many");
  EXPECT_EQ(refusal(names), "");
  names.emplace_back("main.c");
  EXPECT_THAT(refusal(names), HasSubstr("more than 20000 files"));
}

TEST_F(SourcesTest, ASourceMayBeNamedTwice) {
  EXPECT_EQ(digest({".", "lib", "main.c", "link.c"}), digest());
}

TEST_F(SourcesTest, ACopyThatSomebodyChangedIsReplaced) {
  const auto first = take();
  ASSERT_TRUE(first);
  std::ofstream(first->path + "/main.c") << "damaged";
  const auto again = take();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->path, first->path);
  EXPECT_EQ(fs::file_size(again->path + "/main.c"), fs::file_size(folder_ / "plan/main.c"));
}

TEST_F(SourcesTest, AChangedCopyThatIsInUseIsLeftAlone) {
  const auto first = take();
  ASSERT_TRUE(first);
  const auto lock = lock_entry(first->path, Hold::shared,
                               {.stop_fd = -1, .until = std::chrono::steady_clock::now()});
  ASSERT_TRUE(lock);
  std::ofstream(first->path + "/main.c") << "damaged";
  const auto again = take();
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("was changed and cannot be replaced"));
  EXPECT_EQ(fs::file_size(first->path + "/main.c"), 7U);
}

// Workers in pid namespaces of their own have equal pids, as these threads have.
TEST_F(SourcesTest, TwoWorkersWithOneCacheDoNotDisturbEachOther) {
  folder_.write("other/main.c", "int main(void) { return 1; }\n");
  const auto take_often = [&](const std::string& directory, std::set<std::string>& digests) {
    for (int i = 0; i < 10; ++i) {
      const auto taken = take_sources(folder_ / directory, {}, folder_ / "cache");
      digests.insert(taken ? taken->digest : taken.error().message);
    }
  };
  std::set<std::string> ours;
  std::set<std::string> theirs;
  std::thread other([&] { take_often("other", theirs); });
  take_often("plan", ours);
  other.join();
  EXPECT_THAT(ours, ElementsAre(digest()));
  EXPECT_EQ(theirs.size(), 1U);
}

TEST_F(SourcesTest, ACopyToBuildInKeepsLinksAndReplacesWhatWasThere) {
  folder_.write("tree/stale.o", "old");
  ASSERT_TRUE(copy_tree(folder_ / "plan", folder_ / "tree"));
  EXPECT_FALSE(fs::exists(folder_ / "tree/stale.o"));
  EXPECT_EQ(fs::read_symlink(folder_ / "tree/link.c"), "main.c");
  EXPECT_EQ(folder_.read("tree/lib/part.c"), "int part;\n");
  EXPECT_FALSE(copy_tree(folder_ / "nowhere", folder_ / "tree"));
}

}  // namespace
}  // namespace stab::worker
