// SPDX-License-Identifier: MIT
#include "worker/build_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/testing.h"
#include "machine/processes.h"
#include "worker/builder.h"

namespace stab::worker {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t entry_bytes = 100'000;

class CacheTest : public ::testing::Test {
 protected:
  // An entry that was used so many seconds after 1970.
  void add(const std::string& name, std::int64_t used) const {
    folder_.write("cache/" + name + "/out", std::string(entry_bytes, 'x'));
    folder_.write("cache/" + name + ".lock", "");
    const timespec times[2]{{used, 0}, {used, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path(name + ".lock").c_str(), times, 0), 0);
    ASSERT_EQ(utimensat(AT_FDCWD, path(name).c_str(), times, 0), 0);
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_ / ("cache/" + name);
  }
  [[nodiscard]] bool is_there(const std::string& name) const { return fs::exists(path(name)); }
  [[nodiscard]] std::string cut(std::uint64_t limit) const {
    return cut_cache(folder_ / "cache", limit, for_long());
  }
  static LockWait for_long() {
    return {.stop_fd = -1, .until = std::chrono::steady_clock::now() + 1h};
  }
  static LockWait briefly() { return {.stop_fd = -1, .until = std::chrono::steady_clock::now()}; }

  test::Folder folder_;
};

TEST_F(CacheTest, WithoutTimeNothingGoes) {
  add("old", 1000);
  EXPECT_EQ(cut_cache(folder_ / "cache", 1, briefly()), "");
  EXPECT_TRUE(is_there("old"));
}

TEST_F(CacheTest, WhatWasNotUsedForTheLongestTimeGoes) {
  add("new", 3000);
  add("old", 1000);
  add("sources-middle", 2000);
  EXPECT_EQ(cut(10 * entry_bytes), "");
  EXPECT_THAT(cut(2 * entry_bytes + 50'000), HasSubstr("1 of 3 entries"));
  EXPECT_FALSE(is_there("old"));
  EXPECT_FALSE(is_there("old.lock"));
  EXPECT_TRUE(is_there("sources-middle"));
  EXPECT_THAT(cut(1), HasSubstr("2 of 2 entries"));
  EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
}

TEST_F(CacheTest, WhatSomebodyUsesStaysAndCountsAsUsedNow) {
  add("old", 1000);
  add("older", 500);
  {
    const auto used = lock_entry(path("older"), Hold::shared, briefly());
    ASSERT_TRUE(used);
    EXPECT_THAT(cut(1), HasSubstr("1 of 2 entries"));
    EXPECT_TRUE(is_there("older/out"));
    EXPECT_FALSE(lock_entry(path("older"), Hold::alone, briefly()));
    EXPECT_TRUE(lock_entry(path("older"), Hold::shared, briefly()));
  }
  add("young", 4000);
  EXPECT_THAT(cut(entry_bytes + 50'000), HasSubstr("1 of 2 entries"));
  EXPECT_TRUE(is_there("older"));
}

TEST_F(CacheTest, ALockWhoseEntryWasRemovedIsNotShared) {
  add("entry", 1000);
  const auto lock = lock_entry(path("entry"), Hold::shared, briefly());
  ASSERT_TRUE(lock);
  EXPECT_TRUE(share(*lock, path("entry")));
  ASSERT_EQ(unlink(path("entry.lock").c_str()), 0);
  EXPECT_FALSE(share(*lock, path("entry")));
}

TEST_F(CacheTest, LinksAreNotFollowed) {
  folder_.write("outside/file", "precious");
  add("entry", 1000);
  fs::create_symlink(folder_ / "outside", path("entry/to-folder"));
  fs::create_symlink(folder_ / "outside/file", path("entry/to-file"));
  fs::create_symlink(folder_ / "outside", path("linked"));
  fs::create_symlink(folder_ / "outside/made", path("planted.lock"));
  folder_.write("cache/planted/out", "x");
  ASSERT_FALSE(cut(1).empty());
  EXPECT_FALSE(is_there("entry"));
  EXPECT_TRUE(is_there("linked"));
  EXPECT_EQ(folder_.read("outside/file"), "precious");
  EXPECT_FALSE(fs::exists(folder_ / "outside/made"));
}

TEST_F(CacheTest, FoldersInWhichNothingCanBeRemovedGoToo) {
  add("entry", 1000);
  folder_.write("cache/entry/tree/locked/file", "x");
  fs::permissions(path("entry/tree/locked"), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(cut(1), HasSubstr("1 of 1 entries"));
  EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
}

TEST_F(CacheTest, ALinkThatCannotBeRemovedKeepsItsTarget) {
  folder_.write("outside/file", "precious");
  folder_.write("closed/file", "x");
  fs::create_symlink(folder_ / "outside", folder_ / "closed/link");
  fs::permissions(folder_ / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(remove_tree(folder_ / "closed/link"), geteuid() == 0);
  EXPECT_EQ(folder_.read("outside/file"), "precious");
  fs::permissions(folder_ / "closed", fs::perms::owner_all);
}

TEST_F(CacheTest, ATreeIsRemovedWithItsLockedFoldersAndNoLinkIsFollowed) {
  folder_.write("outside/file", "precious");
  fs::permissions(folder_ / "outside", fs::perms::owner_read | fs::perms::owner_exec);
  folder_.write("tree/locked/file", "x");
  fs::create_symlink(folder_ / "outside", folder_ / "tree/link");
  fs::permissions(folder_ / "tree/locked", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_TRUE(remove_tree(folder_ / "tree"));
  EXPECT_FALSE(fs::exists(folder_ / "tree"));
  EXPECT_TRUE(remove_tree(folder_ / "tree")) << "nothing is there";
  fs::create_symlink(folder_ / "outside", folder_ / "link");
  EXPECT_TRUE(remove_tree(folder_ / "link"));
  EXPECT_EQ(folder_.read("outside/file"), "precious");
  EXPECT_EQ(fs::status(folder_ / "outside").permissions(),
            fs::perms::owner_read | fs::perms::owner_exec);
  fs::permissions(folder_ / "outside", fs::perms::owner_all);
}

constexpr std::uint64_t everything = std::uint64_t{1} << 40;

// Its time says nothing: a program can give its files any time, and the clock may be wrong.
TEST_F(CacheTest, WhatAKilledWorkerLeftGoesWhateverItsTime) {
  constexpr std::int64_t year_2200 = 7'258'118'400;
  add("draft-aaaaaa", year_2200);
  add("draft-bbbbbb", 1000);
  fs::remove(path("draft-bbbbbb.lock"));
  folder_.write("cache/draft-file", "a file");
  folder_.write("cache/mine.txt", "what is no entry");
  std::string made;
  {
    const auto draft = Draft::make(folder_ / "cache");
    ASSERT_TRUE(draft) << draft.error().message;
    made = draft->path();
    folder_.write("cache/" + fs::path(made).filename().string() + "/file", "made just now");
    EXPECT_THAT(cut(everything), HasSubstr("3 of 5 entries"));
    EXPECT_TRUE(fs::exists(made + "/file"));
  }
  EXPECT_FALSE(fs::exists(made));
  EXPECT_TRUE(is_there("mine.txt"));
  fs::remove(path("mine.txt"));
  EXPECT_TRUE(fs::is_empty(folder_ / "cache")) << "the locks of drafts are gone, too";
}

// How a process ends that does this in the folder, as a user without rights if we are root.
template <class What>
int without_rights(const std::string& folder, What what) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t somebody = 61234;
    if (chdir(folder.c_str()) != 0) _exit(100);
    if (geteuid() == 0) {
      if (chown(".", somebody, somebody) != 0) _exit(101);
      for (const auto& each : fs::recursive_directory_iterator("."))
        if (lchown(each.path().c_str(), somebody, somebody) != 0) _exit(101);
      if (setgroups(0, nullptr) != 0 || setresuid(somebody, somebody, somebody) != 0) _exit(102);
    }
    _exit(what());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(CacheTest, NoFolderThatCannotBeReadHidesBytes) {
  add("entry", 1000);
  folder_.write("cache/hides/tree/closed/file", std::string(entry_bytes, 'x'));
  folder_.write("cache/.closed/file", std::string(entry_bytes, 'x'));
  add("new", 3000);
  EXPECT_EQ(without_rights(folder_ / "cache",
                           [] {
                             if (chmod("hides/tree/closed", 0) != 0 || chmod(".closed", 0) != 0)
                               return 1;
                             const std::string said = cut_cache(".", everything, for_long());
                             if (!said.starts_with("2 of 4 entries")) return 2;
                             if (fs::exists("hides") || fs::exists(".closed")) return 3;
                             return fs::exists("entry/out") && fs::exists("new/out") ? 0 : 4;
                           }),
            0);
}

// The folders are so deep that no path names them.
TEST_F(CacheTest, NoPathThatIsTooLongHidesBytes) {
  add("entry", 1000);
  add("deep", 2000);
  Fd folder(open(path("deep").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string name(200, 'd');
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(mkdirat(folder.get(), name.c_str(), 0755), 0);
    folder = Fd(openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(folder);
  }
  EXPECT_THAT(cut(everything), HasSubstr("1 of 2 entries"));
  EXPECT_FALSE(is_there("deep"));
  EXPECT_TRUE(is_there("entry"));
}

// Counting may take half of the time. Here it needs all of it, so that removing has the other half.
TEST_F(CacheTest, WhatIsNotCountedInTimeGoesTheLeastRecentlyUsedFirst) {
  using std::chrono::steady_clock;
  add("old", 1000);
  add("new", 2000);
  for (int i = 0; i < 5000; ++i) folder_.write("cache/new/" + std::to_string(i), "");
  folder_.write("cache/used/out", "x");
  const auto used = lock_entry(path("used"), Hold::shared, briefly());
  ASSERT_TRUE(used);
  std::string said;
  // If this process has to wait for a CPU, there is no time left, and nothing goes.
  for (int i = 0; i < 200 && said.empty(); ++i) {
    const auto began = steady_clock::now();
    EXPECT_EQ(cut(everything), "");
    const auto needed = steady_clock::now() - began;
    said = cut_cache(folder_ / "cache", everything,
                     {.stop_fd = -1, .until = steady_clock::now() + needed});
  }
  EXPECT_THAT(said, AllOf(HasSubstr("of 3 entries"), HasSubstr("at least")));
  EXPECT_FALSE(is_there("old"));
  EXPECT_TRUE(is_there("used/out"));
}

TEST_F(CacheTest, ALockThatIsNoneDoesNotKeepItsEntry) {
  for (const char* name : {"linked", "piped", "closed", "folder"}) add(name, 1000);
  fs::remove(path("folder.lock"));
  folder_.write("cache/folder.lock/file", "");
  fs::remove(path("linked.lock"));
  fs::create_symlink(folder_ / "outside", path("linked.lock"));
  fs::remove(path("piped.lock"));
  ASSERT_EQ(mkfifo(path("piped.lock").c_str(), 0600), 0);
  ASSERT_EQ(chmod(path("closed.lock").c_str(), 0), 0);
  folder_.write("cache/alone.lock", "");
  EXPECT_THAT(cut(1), HasSubstr("4 of 4 entries"));
  EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
  EXPECT_FALSE(fs::exists(folder_ / "outside"));
}

TEST_F(CacheTest, FilesAndDottedFoldersCountAndGoToo) {
  const auto put = [this](const std::string& name, std::int64_t used) {
    const timespec times[2]{{used, 0}, {used, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path(name).c_str(), times, 0), 0);
  };
  folder_.write("cache/.hidden/deep/file", std::string(entry_bytes, 'x'));
  put(".hidden", 1000);
  folder_.write("cache/file.tar", std::string(entry_bytes, 'x'));
  put("file.tar", 2000);
  add("entry", 3000);
  folder_.write("cache/entry.lock", std::string(entry_bytes, 'x'));
  put("entry.lock", 3000);
  EXPECT_EQ(cut(4 * entry_bytes), "");
  EXPECT_TRUE(is_there(".hidden"));
  EXPECT_EQ(fs::file_size(path("entry.lock")), 0U);
  EXPECT_THAT(cut(entry_bytes * 5 / 2), HasSubstr("1 of 3 entries"));
  EXPECT_FALSE(is_there(".hidden"));
  EXPECT_TRUE(is_there("file.tar"));
  EXPECT_FALSE(cut(entry_bytes * 3 / 2).empty());
  EXPECT_FALSE(is_there("file.tar"));
  EXPECT_TRUE(is_there("entry"));
}

// Two experiments, one of which goes on while the other's last build cuts the cache.
TEST_F(CacheTest, NoBuildOfAnExperimentThatGoesOnIsRemoved) {
  ASSERT_TRUE(machine::adopt_orphans());
  folder_.write("plan/a.txt", "a");
  const auto request = [&](const std::string& text, std::uint64_t limit) {
    return protocol::BuildRequest{.command = "echo " + text + " >${OUT}",
                                  .directory = folder_ / "plan",
                                  .sources = {"a.txt"},
                                  .cache = folder_ / "cache",
                                  .timeout = 60s,
                                  .cache_limit = limit};
  };
  const auto fresh = [] { return Builder(machine::Containment::process_tree, -1, "", nullptr); };
  std::string key_of_ended;
  {
    Builder ended = fresh();
    key_of_ended = ended.build(request("ended", 0)).key;
  }
  Builder goes_on = fresh();
  const auto first = goes_on.build(request("one", 0));
  Builder other = fresh();
  const auto last = other.build(request("two", 1));
  EXPECT_EQ(last.status, store::BuildStatus::built);
  EXPECT_THAT(last.tidied, HasSubstr("removed from the cache"));
  EXPECT_FALSE(is_there(key_of_ended));
  EXPECT_TRUE(fs::exists(first.out));
  EXPECT_TRUE(fs::exists(last.out));
  EXPECT_EQ(goes_on.build(request("one", 0)).status, store::BuildStatus::cached);
  EXPECT_EQ(goes_on.build(request("three", 0)).status, store::BuildStatus::built);
}

}  // namespace
}  // namespace stab::worker
