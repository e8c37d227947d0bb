// SPDX-License-Identifier: MIT
// What is whole of a damaged file is in the copy, wherever the damage is, and nothing else is.
#include "store/recover.h"

#include <unistd.h>

#include <algorithm>

#include "base/random.h"
#include "store/recover_testing.h"

namespace stab::store {
namespace {

using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;
namespace fs = std::filesystem;

TEST_F(RecoverTest, OfAWholeDatabaseNothingIsLost) {
  const Recovered found = recovered();
  EXPECT_TRUE(found.lost_nothing());
  EXPECT_EQ(table(found, "trial").kept, 2 * per_experiment);
  EXPECT_EQ(table(found, "meta").kept, 2U);
  EXPECT_EQ(used_pages(copy_), used_pages(path_));
}

TEST_F(RecoverTest, TheLogOfADatabaseThatWasNotClosedCounts) {
  const auto store = open_or_fail(path_);
  ASSERT_TRUE(store->add_trial(example_trial(3, 0)));
  for (const char* suffix : {"", "-wal"})
    fs::copy_file(path_ + suffix, directory_ / ("killed.db" + std::string(suffix)));
  const auto found = recover(directory_ / "killed.db", copy_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->lost_nothing());
  EXPECT_EQ(bytes_of(directory_ / "killed.db-wal"), bytes_of(path_ + "-wal"));
  EXPECT_THAT(trials_of(*open_or_fail(copy_), 3), SizeIs(1));
}

TEST_F(RecoverTest, ADatabaseInUseOrACopyThatIsThereIsRefused) {
  {
    const auto store = open_or_fail(path_);
    EXPECT_THAT(recover(path_, copy_).error().message, HasSubstr("is in use by"));
    EXPECT_FALSE(fs::exists(copy_));
  }
  write_text(copy_, "somebody's");
  EXPECT_THAT(recover(path_, copy_).error().message, HasSubstr("already exists"));
  EXPECT_EQ(bytes_of(copy_), "somebody's");
  fs::remove(copy_);
  write_text(copy_ + "-wal", "somebody's");
  EXPECT_THAT(recover(path_, copy_).error().message, HasSubstr("move the log away"));
  EXPECT_FALSE(fs::exists(copy_));
  fs::remove(copy_ + "-wal");
  EXPECT_THAT(recover(directory_ / "none", copy_).error().message,
              HasSubstr("there is no database"));
}

TEST_F(RecoverTest, WhatWasRecoveredLosesNothingMore) {
  cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE id = 70");
  recovered();
  const auto again = recover(copy_, directory_ / "again.db");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->lost_nothing());
}

// Each page in turn is lost: with it the rows that stand there, and no others but those that hang on
// them. The trees' inner pages are among them.
TEST_F(RecoverTest, AnyPageMayBeDestroyed) {
  const std::string whole = bytes_of(path_);
  const std::size_t pages = whole.size() / page_size;
  ASSERT_GT(pages, 20U);
  const auto counts = counts_of(path_);
  std::size_t without_loss = 0;
  for (std::size_t page = 1; page < pages; ++page) {
    std::string bytes = whole;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page * page_size), page_size, '\x5a');
    write(bytes);
    const Recovered found = recovered();
    without_loss += found.lost_nothing() ? 1 : 0;
    if (found.lost_nothing()) {
      EXPECT_EQ(counts_of(copy_), counts) << "page " << page;
    }
    ASSERT_FALSE(HasFailure()) << "page " << page;
    const bool of_experiments = table(found, "experiment").lost > 0;
    if (!of_experiments) {
      // A page has some trials.
      EXPECT_GE(kept_trials_, 2 * per_experiment - 30) << "page " << page;
    }
  }
  EXPECT_GE(without_loss, 5U) << "roots and indexes hold no rows";
}

TEST_F(RecoverTest, TheFirstPageMayBeDestroyed) {
  const auto counts = counts_of(path_);
  std::string bytes = bytes_of(path_);
  std::fill_n(bytes.begin(), page_size, '\x5a');
  write(bytes);
  EXPECT_FALSE(Store::open(path_));
  // All is there, and nothing tells that it is all.
  const Recovered found = recovered();
  EXPECT_EQ(counts_of(copy_), counts);
  EXPECT_THAT(found.tables, Each(Field(&Recovered::Table::lost, 0U)));
  EXPECT_FALSE(found.lost_nothing());
  EXPECT_TRUE(table(found, "build").more);
  EXPECT_FALSE(table(found, "meta").more);
  EXPECT_EQ(kept_trials_, 2 * per_experiment);
}

TEST_F(RecoverTest, RemovedRowsAreNotLost) {
  {
    const auto store = open_or_fail(path_);
    ASSERT_TRUE(store->begin_removal(1, "somebody removed it"));
    while (store->go_on_with_removal(1).value()) {
    }
  }
  std::string bytes = bytes_of(path_);
  std::fill_n(bytes.begin(), page_size, '\x5a');
  write(bytes);
  const Recovered found = recovered();
  EXPECT_EQ(kept_trials_, per_experiment);
  EXPECT_THAT(found.tables, Each(Field(&Recovered::Table::lost, 0U)));
  EXPECT_THAT(found.experiments, SizeIs(0));
  // Others may have been.
  EXPECT_FALSE(found.lost_nothing());
  for (const char* name : {"meta", "experiment", "build"})
    EXPECT_TRUE(table(found, name).more) << name;
}

TEST_F(RecoverTest, WhereATableIsGoneMoreMayBeLost) {
  const std::string whole = bytes_of(path_);
  for (const char* name : {"build", "event", "machine"}) {
    write(whole);
    destroy_root_of(name);
    const Recovered found = recovered();
    EXPECT_EQ(table(found, name).kept, 0U) << name;
    EXPECT_TRUE(table(found, name).more) << name;
    EXPECT_FALSE(found.lost_nothing()) << name;
    EXPECT_FALSE(table(found, "trial").more) << name;
  }
}

TEST_F(RecoverTest, AFileWithoutRowsOfOursIsRefused) {
  write(std::string(50'000, 'x'));
  const auto refused = recover(path_, copy_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("the file has no readable row of a stabd database"));
  EXPECT_FALSE(fs::exists(copy_));
}

TEST_F(RecoverTest, LinksInItsFolderAreNotFollowed) {
  write_text(directory_ / "other", "somebody's");
  const std::string link = copy_ + "." + std::to_string(getpid()) + ".partial";
  destroy_root_of("trial");
  const std::string damaged = bytes_of(path_);
  // SQLite copies the one, and not the other.
  for (const bool with_header : {true, false}) {
    for (const char* suffix : {"", ".pages"}) {
      fs::remove(link + suffix);
      fs::create_symlink(directory_ / "other", link + suffix);
    }
    write(with_header ? damaged : std::string(page_size, '\x5a') + damaged.substr(page_size));
    recovered();
  }
  EXPECT_EQ(bytes_of(directory_ / "other"), "somebody's");
}

TEST_F(RecoverTest, AFileThatWasCutShortGivesWhatIsThere) {
  const std::string whole = bytes_of(path_);
  write(whole.substr(0, whole.size() / 2));
  const Recovered found = recovered();
  EXPECT_GT(table(found, "experiment").kept, 0U);
  EXPECT_FALSE(found.lost_nothing());
}

TEST_F(RecoverTest, ChangedBytesAnywhereLeaveAWholeCopy) {
  const std::string whole = bytes_of(path_);
  Random random(11);
  for (int round = 0; round < 40; ++round) {
    std::string bytes = whole;
    for (int flip = 0; flip < 1 << (round % 6); ++flip) {
      // The header says that it is a database of ours, and how large its pages are.
      char& byte = bytes[100 + random.below(bytes.size() - 100)];
      byte = static_cast<char>(byte ^ (1 << random.below(8)));
    }
    write(bytes);
    recovered();
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

}  // namespace
}  // namespace stab::store
