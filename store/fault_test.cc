// SPDX-License-Identifier: MIT
// S1 when the disk refuses: a temporary error, nothing half stored, and the same call works when
// the cause is gone.
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::HasSubstr;

class FaultTest : public Remembering, public WithStore {
 protected:
  static std::string answer(const std::string& sql) {
    std::string text;
    const auto keep = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0];
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(opened_last, sql.c_str(), keep, &text, nullptr), SQLITE_OK);
    return text;
  }

  // Adds trials until the store refuses one; that one. Bounded: each takes a few hundred bytes.
  Trial add_until_refused(StoreError& error) {
    for (std::uint32_t position = 0; position < 20000; ++position) {
      Trial trial = example_trial(experiment_, position);
      trial.stderr_tail = std::string(4000, 'e');
      const auto added = store_->add_trial(trial);
      if (added) continue;
      error = added.error();
      return trial;
    }
    error.message = "never refused";
    return {};
  }

  // After the cause is gone: the refused trial goes in, in this process and on reopening all is
  // there and whole.
  void expect_recovery(const Trial& refused) {
    EXPECT_TRUE(store_->verify().value().empty());
    EXPECT_EQ(trials_of(*store_, experiment_).size(), refused.position);
    add(refused);
    reopen();
    EXPECT_TRUE(store_->verify().value().empty());
    const auto trials = trials_of(*store_, experiment_);
    ASSERT_EQ(trials.size(), refused.position + 1U);
    EXPECT_EQ(trials.back(), refused);
  }
};

TEST_F(FaultTest, TheConnectionSyncsEachCommitAndEnforcesReferences) {
  EXPECT_EQ(answer("PRAGMA synchronous"), "2");  // FULL
  EXPECT_EQ(answer("PRAGMA foreign_keys"), "1");
  EXPECT_EQ(answer("PRAGMA journal_mode"), "wal");
}

TEST_F(FaultTest, AFullDatabaseIsATemporaryErrorAndTheTrialGoesInLater) {
  inside("PRAGMA max_page_count = 60");
  StoreError error;
  const Trial refused = add_until_refused(error);
  EXPECT_TRUE(error.temporary);
  EXPECT_THAT(error.message, HasSubstr("the disk is full"));
  EXPECT_THAT(error.message, HasSubstr(path_));
  inside("PRAGMA max_page_count = 1000000");
  expect_recovery(refused);
}

TEST_F(FaultTest, AWriteThatTheSystemRefusesIsATemporaryError) {
  struct rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* const handler = signal(SIGXFSZ, SIG_IGN);
  struct rlimit low = old;
  low.rlim_cur = 300000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  StoreError error;
  const Trial refused = add_until_refused(error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  static_cast<void>(signal(SIGXFSZ, handler));
  EXPECT_TRUE(error.temporary) << error.message;
  EXPECT_THAT(error.message, HasSubstr("disk"));
  expect_recovery(refused);
}

TEST_F(FaultTest, AReadOnlyStoreIsATemporaryError) {
  add(example_trial(experiment_, 0));
  inside("PRAGMA query_only = ON");
  const Trial refused = example_trial(experiment_, 1);
  const auto added = store_->add_trial(refused);
  ASSERT_FALSE(added);
  EXPECT_TRUE(added.error().temporary);
  EXPECT_THAT(added.error().message, HasSubstr("read-only"));
  inside("PRAGMA query_only = OFF");
  expect_recovery(refused);
}

TEST_F(FaultTest, ATransactionOfAnotherProgramIsATemporaryError) {
  inside("PRAGMA busy_timeout = 10");
  SQLite::Database shell(path_, SQLite::OPEN_READWRITE);
  shell.exec("BEGIN IMMEDIATE");
  const auto added = store_->add_trial(example_trial(experiment_, 0));
  ASSERT_FALSE(added);
  EXPECT_TRUE(added.error().temporary);
  EXPECT_THAT(added.error().message, HasSubstr("another program has locked the database"));
  shell.exec("ROLLBACK");
  expect_recovery(example_trial(experiment_, 0));
}

// In a child, on a small file system of its own in its own mount namespace. What it exits with:
enum Outcomes { fine = 0, no_mount = 10, failed = 20 };

int on_small_file_system(const std::string& directory, const std::function<int()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(no_mount);
    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=600k") != 0) _exit(no_mount);
    _exit(action());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : failed;
}

int fill_and_recover(const std::string& path) {
  const auto store = Store::open(path);
  if (!store) return failed + 1;
  const Id experiment = (*store)->add_experiment(example_experiment()).value_or(0);
  const std::string filler = path + ".filler";
  write_text(filler, std::string(200 << 10, 'f'));
  std::uint32_t position = 0;
  Outcome<void> added;
  while ((added = (*store)->add_trial(example_trial(experiment, position))) && position < 5000)
    ++position;
  if (added || !added.error().temporary) return failed + 2;
  if (added.error().message.find("the disk is full") == std::string::npos) return failed + 3;
  std::filesystem::remove(filler);
  if (!(*store)->add_trial(example_trial(experiment, position))) return failed + 4;
  if (!(*store)->verify().value().empty()) return failed + 5;
  return trials_of(**store, experiment).size() == position + 1 ? fine : failed + 6;
}

TEST_F(FaultTest, ARealFullFileSystemIsATemporaryErrorAndTheTrialGoesInLater) {
  ASSERT_TRUE(std::filesystem::create_directory(directory_ / "small"));
  const std::string path = directory_ / "small/stab.db";
  const int result =
      on_small_file_system(directory_ / "small", [&] { return fill_and_recover(path); });
  if (result == no_mount)
    GTEST_SKIP() << "no right to mount a file system in a namespace of our own";
  EXPECT_EQ(result, fine);
}

// The disk is smaller than a log that cannot begin anew while somebody reads.
int outgrow_and_recover(const std::string& path) {
  if (!Store::open(path)) return failed;  // closed, it has all of its pages
  const auto store = Store::open(path);
  if (!store) return failed + 1;
  Experiment experiment = example_experiment();
  experiment.id = (*store)->add_experiment(experiment).value_or(0);
  const auto change_until_refused = [&](int most) {
    for (int i = 0; i < most; ++i) {
      experiment.reason = std::to_string(i);
      if (auto changed = (*store)->update_experiment(experiment); !changed) return changed;
    }
    return Outcome<void>();
  };
  {
    const auto reader = Reader::open(path);
    if (!reader) return failed + 2;
    const auto refused = change_until_refused(5000);
    if (refused || !refused.error().temporary) return failed + 3;
  }
  // Nobody reads any more, and nobody frees any space.
  if (!change_until_refused(5000)) return failed + 4;
  return (*store)->verify().value().empty() ? fine : failed + 5;
}

TEST_F(FaultTest, ALogThatFilledTheDiskIsUsedAgainWhenNobodyReadsIt) {
  ASSERT_TRUE(std::filesystem::create_directory(directory_ / "small"));
  const std::string path = directory_ / "small/stab.db";
  const int result =
      on_small_file_system(directory_ / "small", [&] { return outgrow_and_recover(path); });
  if (result == no_mount)
    GTEST_SKIP() << "no right to mount a file system in a namespace of our own";
  EXPECT_EQ(result, fine);
}

TEST_F(FaultTest, ALogThatGrewGivesItsSpaceBack) {
  Experiment experiment = store_->experiment(experiment_).value().value();
  const auto change = [&] {
    experiment.reason += "x";
    return store_->update_experiment(experiment).has_value();
  };
  const auto log_bytes = [&] { return std::filesystem::file_size(path_ + "-wal"); };
  experiment.plan = std::string(1 << 20, 'p');
  {
    const auto reader = Reader::open(path_);
    ASSERT_TRUE(reader);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(change());
  }
  ASSERT_GT(log_bytes(), 16U << 20U);
  experiment.plan = "small";
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(change());
  EXPECT_LE(log_bytes(), 8U << 20U);
}

int open_read_only(const std::string& directory) {
  if (mount("none", directory.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0)
    return no_mount;
  const auto refused = Store::open(directory + "/stab.db");
  if (refused || !refused.error().temporary) return failed + 1;
  if (refused.error().message.find("Read-only file system") == std::string::npos) return failed + 2;
  if (mount("none", directory.c_str(), nullptr, MS_REMOUNT, "size=600k") != 0) return no_mount;
  return Store::open(directory + "/stab.db") ? fine : failed + 3;
}

TEST_F(FaultTest, AReadOnlyFileSystemIsATemporaryErrorOfOpen) {
  ASSERT_TRUE(std::filesystem::create_directory(directory_ / "small"));
  const int result = on_small_file_system(directory_ / "small",
                                          [&] { return open_read_only(directory_ / "small"); });
  if (result == no_mount)
    GTEST_SKIP() << "no right to mount a file system in a namespace of our own";
  EXPECT_EQ(result, fine);
}

}  // namespace
}  // namespace stab::store
