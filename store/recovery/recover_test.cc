// SPDX-License-Identifier: MIT
// What is whole of a damaged file is in the copy, wherever the damage is, and nothing else is.
#include "store/recovery/recover.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/random.h"
#include "store/rows/raw_pages.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSubsetOf;
using testing::SizeIs;
namespace fs = std::filesystem;

constexpr std::size_t page_size = 4096;
constexpr std::uint32_t per_experiment = 60;

std::string bytes_of(const std::string& path) {
  return read_file(path, 1 << 26).value_or("");
}

// Two experiments that are done, one that waits; the last plan takes several pages.
class RecoverTest : public testing::Test {
 protected:
  RecoverTest() {
    const auto store = open_or_fail(path_);
    const Id machine = store->add_machine(example_machine()).value();
    for (const Id id : {1, 2, 3}) {
      Experiment experiment = example_experiment();
      experiment.machine = machine;
      experiment.trials = per_experiment;
      experiment.state = id == 3 ? "queued" : "done";
      experiment.reason.clear();
      if (id == 3) experiment.plan = std::string(20000, 'p') + "end";
      EXPECT_EQ(store->add_experiment(experiment).value(), id);
      EXPECT_TRUE(store->add_build({.experiment = id, .key = "k", .benchmark = "sort"}));
      EXPECT_TRUE(store->add_event({.experiment = id, .kind = "state", .text = "queued"}));
      if (id == 3) continue;
      std::vector<Trial> trials;
      for (std::uint32_t i = 0; i < per_experiment; ++i) trials.push_back(example_trial(id, i));
      EXPECT_TRUE(store->add_trials(trials));
      Calibration calibration = example_calibration(machine, id);
      calibration.at_ns += id;
      EXPECT_TRUE(store->add_calibrations({calibration}));
    }
    rows_ = rows_of(*store);
  }

  // Each row as text, by table.
  static std::map<std::string, std::set<std::string>> rows_of(Store& store) {
    std::map<std::string, std::set<std::string>> rows;
    for (const Experiment& each : store.experiments().value().intact) {
      rows["experiment"].insert(each.name + each.plan + std::to_string(each.id));
      for (const Trial& trial : trials_of(store, each.id)) {
        EXPECT_EQ(trial, example_trial(each.id, trial.position));
        rows["trial"].insert(std::to_string(each.id) + "/" + std::to_string(trial.position));
      }
      for (const Event& event : store.events(each.id).value())
        rows["event"].insert(std::to_string(each.id) + event.text);
    }
    return rows;
  }

  static std::map<std::string, std::int64_t> counts_of(const std::string& path) {
    std::map<std::string, std::int64_t> counts;
    SQLite::Database database(path, SQLite::OPEN_READWRITE);  // leaves no log
    for (const char* table :
         {"meta", "machine", "experiment", "build", "trial", "calibration", "event"})
      counts[table] = database.execAndGet("SELECT count(*) FROM " + std::string(table)).getInt64();
    return counts;
  }

  // Those that hold something: tables of earlier versions left some free.
  static std::int64_t used_pages(const std::string& path) {
    SQLite::Database database(path, SQLite::OPEN_READWRITE);
    return database.execAndGet("PRAGMA page_count").getInt64() -
           database.execAndGet("PRAGMA freelist_count").getInt64();
  }

  void write(const std::string& bytes) const { write_text(path_, bytes); }

  Recovered recovered() {
    fs::remove(copy_);
    fs::remove(copy_ + ".lock");
    const std::string before = bytes_of(path_);
    auto found = recover(path_, copy_);
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_EQ(bytes_of(path_), before) << "the original is changed";
    if (!found) return {};
    const auto store = open_or_fail(copy_);
    EXPECT_THAT(store->verify().value(), IsEmpty());
    const auto kept = rows_of(*store);
    for (const auto& [table, rows] : kept) EXPECT_THAT(rows, IsSubsetOf(rows_[table])) << table;
    kept_trials_ = kept.contains("trial") ? kept.at("trial").size() : 0;
    return std::move(*found);
  }

  void destroy_root_of(const std::string& name) const {
    const std::int64_t root =
        SQLite::Database(path_)
            .execAndGet("SELECT rootpage FROM sqlite_schema WHERE name = '" + name + "'")
            .getInt64();
    std::string bytes = bytes_of(path_);
    bytes.replace(static_cast<std::size_t>(root - 1) * page_size, page_size,
                  std::string(page_size, '\x5a'));
    write(bytes);
  }

  // Where the trials end that there are.
  void end_by_a_rule(const std::vector<Id>& experiments) {
    const auto store = open_or_fail(path_);
    for (const Id id : experiments) {
      Experiment stopped = store->experiment(id).value().value();
      stopped.reason = "stopped after 5 of 10 blocks: it is known";
      stopped.trials = std::uint64_t{2} * per_experiment;
      ASSERT_TRUE(store->update_experiment(stopped));
    }
  }

  static const Recovered::Table& table(const Recovered& found, const std::string& name) {
    static const Recovered::Table none;
    for (const auto& each : found.tables)
      if (each.name == name) return each;
    return none;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "stab.db";
  std::string copy_ = directory_ / "copy.db";
  std::map<std::string, std::set<std::string>> rows_;
  std::size_t kept_trials_ = 0;
};

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
  EXPECT_THAT(recover(path_, copy_).error().message, HasSubstr("is there already"));
  EXPECT_EQ(bytes_of(copy_), "somebody's");
  fs::remove(copy_);
  write_text(copy_ + "-wal", "somebody's");
  EXPECT_THAT(recover(path_, copy_).error().message, HasSubstr("move it away"));
  EXPECT_FALSE(fs::exists(copy_));
  fs::remove(copy_ + "-wal");
  EXPECT_THAT(recover(directory_ / "none", copy_).error().message,
              HasSubstr("there is no database"));
}

TEST_F(RecoverTest, ATrialThatIsDamagedIsLostAndItsExperimentCanBeRetried) {
  cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE id = 70");
  const Recovered found = recovered();
  EXPECT_EQ(table(found, "trial").lost, 1U);
  ASSERT_THAT(found.experiments, SizeIs(1));
  EXPECT_EQ(found.experiments[0].id, 2);
  EXPECT_THAT(found.experiments[0].problem, HasSubstr("trials are lost"));
  const auto store = open_or_fail(copy_);
  const auto second = store->experiment(2).value().value();
  EXPECT_EQ(second.state, "failed");
  EXPECT_THAT(second.reason, HasSubstr("'stabctl retry 2'"));
  EXPECT_EQ(store->experiment(1).value()->state, "done");
}

TEST_F(RecoverTest, WithAReadingItsTrialIsLost) {
  cheat(path_, "UPDATE trial SET reading_list = replace(reading_list, '0', '1') WHERE id = 1");
  const Recovered found = recovered();
  EXPECT_EQ(table(found, "trial").lost, 1U);
  EXPECT_EQ(kept_trials_, 2 * per_experiment - 1);
}

TEST_F(RecoverTest, WithAnExperimentItsTrialsAreLostAndItIsNamed) {
  cheat(path_, "UPDATE experiment SET plan = '' WHERE id = 1");
  const Recovered found = recovered();
  EXPECT_EQ(table(found, "experiment").lost, 1U);
  EXPECT_EQ(kept_trials_, per_experiment);
  EXPECT_THAT(found.experiments, Contains(Field(&Recovered::Experiment::problem, "it is lost")));
  const auto store = open_or_fail(copy_);
  const auto calibrations = store->calibrations(1).value();
  ASSERT_THAT(calibrations, SizeIs(2));
  EXPECT_EQ(calibrations[0].experiment, 0);
}

TEST_F(RecoverTest, WithoutItsMachineAnExperimentIsKept) {
  cheat(path_, "UPDATE machine SET facts = ''");
  const Recovered found = recovered();
  EXPECT_EQ(kept_trials_, 2 * per_experiment);
  ASSERT_THAT(found.experiments, SizeIs(3));
  EXPECT_THAT(found.experiments[0].problem, HasSubstr("machine"));
  EXPECT_EQ(table(found, "calibration").kept, 0U);
}

TEST_F(RecoverTest, WhatWasRecoveredLosesNothingMore) {
  cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE id = 70");
  recovered();
  const auto again = recover(copy_, directory_ / "again.db");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->lost_nothing());
}

// After a lost attempt the next one must not get the number of one that is there.
TEST_F(RecoverTest, APositionThatLostAnAttemptCanBeMeasuredAgain) {
  {
    const auto store = open_or_fail(path_);
    for (std::uint32_t attempt = 0; attempt < 3; ++attempt) {
      Trial trial = example_trial(3, 0, attempt);
      trial.last = false;
      ASSERT_TRUE(store->add_trial(trial));
    }
  }
  cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE experiment = 3 AND attempt = 1");
  fs::remove(copy_);
  ASSERT_TRUE(recover(path_, copy_));
  const auto store = open_or_fail(copy_);
  const auto progress = store->progress(3).value();
  ASSERT_THAT(progress, SizeIs(1));
  EXPECT_EQ(progress[0].attempts, 1U);
  EXPECT_TRUE(store->add_trial(example_trial(3, 0, progress[0].attempts)));
}

// What the copy says of experiments: ("done", "") where all is there.
class RecoverTrialsTest : public RecoverTest {
 protected:
  // Of these rows of table trial no page says anything any more, and no tree leads to the others.
  void recover_without(const std::string& which) {
    cheat(path_, "PRAGMA secure_delete = ON; DELETE FROM trial WHERE " + which);
    destroy_root_of("trial");
    found_ = recover(path_, copy_).value();
    store_ = open_or_fail(copy_);
    EXPECT_THAT(store_->verify().value(), IsEmpty());
  }
  std::string state(Id id) { return store_->experiment(id).value()->state; }
  std::string problem(Id id) {
    for (const auto& each : found_.experiments)
      if (each.id == id) return each.problem;
    return "";
  }

  Recovered found_;
  std::unique_ptr<Store> store_;
};

TEST_F(RecoverTrialsTest, WithoutItsLastTrialsAnExperimentHasFailed) {
  recover_without("experiment = 2 AND position > 50");
  EXPECT_EQ(state(1), "done");
  EXPECT_EQ(problem(1), "");
  EXPECT_EQ(state(2), "failed");
  EXPECT_THAT(problem(2), HasSubstr("trials are lost"));
}

TEST_F(RecoverTrialsTest, WithoutAnyOfItsTrialsAnExperimentHasFailedAndItsNeighboursAreDone) {
  recover_without("experiment = 1");
  EXPECT_EQ(state(1), "failed");
  EXPECT_THAT(problem(1), HasSubstr("trials are lost"));
  EXPECT_EQ(state(2), "done");
  EXPECT_EQ(problem(2), "");
}

TEST_F(RecoverTrialsTest, WithoutAnEarlierAttemptThePositionIsLost) {
  {
    const auto store = open_or_fail(path_);
    Experiment third = store->experiment(3).value().value();
    third.state = "done";
    third.trials = 2;
    ASSERT_TRUE(store->update_experiment(third));
    Trial first = example_trial(3, 0);
    first.last = false;
    ASSERT_TRUE(store->add_trial(first));
    ASSERT_TRUE(store->add_trial(example_trial(3, 0, 1)));
    ASSERT_TRUE(store->add_trial(example_trial(3, 1)));
  }
  recover_without("experiment = 3 AND position = 0 AND attempt = 0");
  EXPECT_EQ(state(3), "failed");
  const auto trials = trials_of(*store_, 3);
  ASSERT_THAT(trials, SizeIs(1));
  EXPECT_EQ(trials[0].position, 1U);
}

TEST_F(RecoverTest, ADamagedTrialSaysWhoseItIs) {
  end_by_a_rule({1, 2});
  // The first of the second, and then the last of it.
  for (const int position : {0, 59}) {
    cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE experiment = 2 AND position = " +
                     std::to_string(position));
    const Recovered found = recovered();
    ASSERT_THAT(found.experiments, SizeIs(1));
    EXPECT_EQ(found.experiments[0].id, 2);
    EXPECT_THAT(found.experiments[0].problem, HasSubstr("trials are lost"));
    EXPECT_EQ(open_or_fail(copy_)->experiment(1).value()->state, "done");
    EXPECT_EQ(open_or_fail(copy_)->experiment(2).value()->state, "failed");
  }
}

// Where nothing can be read of what came next, a stopping rule may have ended it there, or not.
TEST_F(RecoverTrialsTest, BehindTheLastOfAStoppedOneItCannotBeTold) {
  end_by_a_rule({1});
  recover_without("experiment = 2 AND position < 3");
  EXPECT_EQ(state(1), "done");
  EXPECT_THAT(problem(1), HasSubstr("cannot be told"));
  EXPECT_EQ(state(2), "failed");
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
  EXPECT_THAT(refused.error().message, HasSubstr("no row of stabd can be read in it"));
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

TEST(RawPages, AnyBytesAreReadWithinTheirBounds) {
  Random random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random.below(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    const auto values = record_in(bytes);
    if (values) EXPECT_LE(values->size(), bytes.size());
  }
  EXPECT_EQ(record_in(""), std::nullopt);
}

}  // namespace
}  // namespace stab::store
