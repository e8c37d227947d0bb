// SPDX-License-Identifier: MIT
#include "store/schema.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/fd.h"
#include "store/copy.h"
#include "store/failure.h"
#include "store/recovery/recover.h"
#include "store/rows/codec.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::HasSubstr;

// A history for these tests only.
void create(Connection& connection) {
  connection.database().exec(
      "CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum INTEGER NOT NULL) "
      "STRICT");
}
void add_age(Connection& connection) {
  connection.database().exec("ALTER TABLE pet ADD COLUMN age INTEGER");
}
void fail_half_way(Connection& connection) {
  connection.database().exec("CREATE TABLE half (id INTEGER PRIMARY KEY) STRICT");
  connection.database().exec("this is no SQL");
}
void add_owner(Connection& connection) {
  connection.database().exec("CREATE TABLE owner (id INTEGER PRIMARY KEY) STRICT");
}

class MigrationTest : public testing::Test {
 protected:
  std::int64_t version() { return connection_.number("PRAGMA user_version"); }
  bool has_table(const std::string& name) {
    return connection_.number("SELECT count(*) FROM sqlite_schema WHERE name = ?", {name}) == 1;
  }

  TemporaryDirectory directory_;
  Connection connection_{directory_ / "pets.db"};
};

TEST_F(MigrationTest, RunsTheMissingStepsOnceAndInOrder) {
  migrate(connection_, std::array<Step, 1>{create});
  EXPECT_EQ(version(), 1);
  migrate(connection_, std::array<Step, 3>{create, add_age, add_owner});
  EXPECT_EQ(version(), 3);
  EXPECT_TRUE(has_table("owner"));
  migrate(connection_, std::array<Step, 3>{create, add_age, add_owner});
  EXPECT_EQ(version(), 3);
}

TEST_F(MigrationTest, KeepsRowsAndTheirChecksumsWhenAColumnIsAdded) {
  migrate(connection_, std::array<Step, 1>{create});
  Row pet;
  pet.set("name", "Rex");
  connection_.transaction([&] { connection_.insert("pet", pet); });
  migrate(connection_, std::array<Step, 2>{create, add_age});
  int rows = 0;
  connection_.select("pet", "", {}, [&](const Stored& stored) {
    EXPECT_EQ(stored.row.text("name"), "Rex");
    EXPECT_EQ(stored.row.optional_integer("age"), std::nullopt);
    return ++rows > 0;
  });
  EXPECT_EQ(rows, 1);
}

TEST_F(MigrationTest, AFailedStepLeavesTheVersionBeforeIt) {
  const std::array<Step, 3> steps{create, fail_half_way, add_owner};
  EXPECT_THROW(migrate(connection_, steps), SQLite::Exception);
  EXPECT_EQ(version(), 1);
  EXPECT_TRUE(has_table("pet"));
  EXPECT_FALSE(has_table("half"));
  EXPECT_FALSE(has_table("owner"));
  migrate(connection_, std::array<Step, 3>{create, add_age, add_owner});
  EXPECT_EQ(version(), 3);
}

TEST_F(MigrationTest, RefusesAVersionThatItDoesNotKnow) {
  migrate(connection_, std::array<Step, 2>{create, add_age});
  try {
    migrate(connection_, std::array<Step, 1>{create});
    FAIL() << "accepted";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("version 2, this stabd knows versions up to 1"));
  }
  EXPECT_EQ(version(), 2);
}

TEST(Schema, HasAStepForEachVersion) {
  EXPECT_EQ(schema_steps().size(), static_cast<std::size_t>(schema_version));
}

TEST(Schema, ANewerDatabaseIsRefusedAndUnchanged) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  open_or_fail(path).reset();
  cheat(path, "PRAGMA user_version = 1000");
  const auto store = Store::open(path);
  ASSERT_FALSE(store);
  EXPECT_FALSE(store.error().temporary);
  EXPECT_THAT(store.error().message, HasSubstr("its schema has version 1000"));
  cheat(path, "PRAGMA user_version = " + std::to_string(schema_version));
  EXPECT_TRUE(Store::open(path));
}

// The columns that the first version had.
Row first_version_of(const Trial& trial) {
  static constexpr std::array later{"randomized",
                                    "randomization",
                                    "layout_note",
                                    "layout_seed",
                                    "epochs",
                                    "given_up",
                                    "epochs_ns",
                                    "longest_pause_ns",
                                    "functions",
                                    "moved_functions",
                                    "text_bytes",
                                    "moved_bytes",
                                    "setup_ns",
                                    "main_to_exit_ns",
                                    "region_ns",
                                    "regions",
                                    "heap_operations",
                                    "heap_bytes",
                                    "heap_fixed_bytes",
                                    "reading_list",
                                    "sample_list",
                                    "profile",
                                    "causal"};
  Row row;
  for (const auto& [column, value] : to_row(trial).values())
    if (std::ranges::find(later, column) == later.end()) row.set_value(column, value);
  return row;
}

// As versions before the fifth wrote it.
Row old_row_of(const Experiment& experiment) {
  static constexpr std::array later{"duration_ns", "priority", "held_by"};
  Row row;
  for (const auto& [column, value] : to_row(experiment).values())
    if (std::ranges::find(later, column) == later.end()) row.set_value(column, value);
  return row;
}

TEST(Schema, TrialsOfTheFirstVersionHaveNoLayoutAndStayIntact) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  Trial old;
  {
    Connection connection(path);
    migrate(connection, schema_steps().first(1));
    connection.transaction([&] {
      old = example_trial(connection.insert("experiment", old_row_of(example_experiment())), 0);
      old.readings.clear();
      old.samples.clear();
      old.profile = {};
      old.causal = "";
      connection.insert("trial", first_version_of(old));
    });
  }
  const auto store = open_or_fail(path);
  EXPECT_TRUE(store->verify().value().empty());
  Trial fresh = example_trial(old.experiment, 1);
  ASSERT_TRUE(store->add_trial(fresh));
  old.layout = {};
  EXPECT_THAT(trials_of(*store, old.experiment), testing::ElementsAre(old, fresh));
}

TEST(Schema, AnExperimentKeepsItsDurationAndAnOldOneHasNone) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  {
    Connection connection(path);
    migrate(connection, schema_steps().first(4));
    connection.transaction(
        [&] { connection.insert("experiment", old_row_of(example_experiment())); });
  }
  const auto store = open_or_fail(path);
  Experiment experiment = store->experiment(1).value().value();
  EXPECT_EQ(experiment.duration_ns, std::nullopt);
  experiment.duration_ns = 0;
  ASSERT_TRUE(store->update_experiment(experiment));
  EXPECT_EQ(store->experiment(1).value(), experiment);
  EXPECT_TRUE(store->verify().value().empty());
}

TEST(Schema, WhatIsNoLongerHeldIsIntactAgain) {
  const TemporaryDirectory directory;
  const auto store = open_or_fail(directory / "stab.db");
  Experiment experiment = example_experiment();
  experiment.duration_ns = 5;
  experiment.priority = -3;
  experiment.held_by = 1000;
  experiment.id = store->add_experiment(experiment).value();
  EXPECT_EQ(store->experiment(experiment.id).value(), experiment);
  experiment.duration_ns.reset();
  experiment.priority = 0;
  experiment.held_by.reset();
  ASSERT_TRUE(store->update_experiment(experiment));
  EXPECT_EQ(store->experiment(experiment.id).value(), experiment);
}

TEST(Schema, AThirdVersionGetsCalibrationsAndKeepsItsRows) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  Id machine = 0;
  Id experiment = 0;
  {
    Connection connection(path);
    migrate(connection, schema_steps().first(3));
    EXPECT_EQ(connection.number("PRAGMA user_version"), 3);
    connection.transaction([&] {
      machine = connection.insert("machine", to_row(example_machine()));
      experiment = connection.insert("experiment", old_row_of(example_experiment()));
    });
  }
  const auto store = open_or_fail(path);
  EXPECT_EQ(store->machine(machine).value(), example_machine());
  EXPECT_TRUE(store->calibrations(machine)->empty());
  ASSERT_TRUE(store->add_calibrations({example_calibration(machine, experiment)}));
  EXPECT_THAT(store->calibrations(machine).value(),
              testing::ElementsAre(example_calibration(machine, experiment)));
  EXPECT_TRUE(store->verify().value().empty());
}

class OldReadings : public testing::Test {
 protected:
  OldReadings() {
    make_version_6(path_, 1200);  // more than are moved at once
  }

  // The same of the copy that was made before.
  [[nodiscard]] std::string before() const { return path_ + ".before-v7"; }

  std::string damage() {
    std::string text;
    for (const Damage& each : store_->verify().value())
      text += each.table + " " + std::to_string(each.row) + ": " + each.problem + "\n";
    return text;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "stab.db";
  std::unique_ptr<Store> store_;
};

TEST_F(OldReadings, BecomePartOfTheirTrials) {
  ASSERT_EQ(back_up(path_, directory_ / "copy.db").value().size(), 0U);
  store_ = open_or_fail(path_);
  EXPECT_EQ(damage(), "");
  std::uint32_t position = 0;
  for (const Trial& trial : trials_of(*store_, 1)) {
    Trial expected = example_trial(1, position++);
    for (auto& reading : expected.readings) reading.unit = "";  // nobody wrote one
    expected.profile = {};
    expected.causal = "";
    expected.samples.clear();  // nor any of these
    ASSERT_EQ(trial, expected);
  }
  EXPECT_EQ(position, 1200U);
  EXPECT_TRUE(store_->add_trial(example_trial(1, position)));
  store_.reset();
  // What was there is in the copy, as it was.
  EXPECT_EQ(back_up(before(), directory_ / "again.db").value().size(), 0U);
  for (const std::string& copy : {directory_ / "copy.db", before()}) {
    SQLite::Database old(copy);
    EXPECT_EQ(old.execAndGet("PRAGMA user_version").getInt(), 6);
    EXPECT_EQ(old.execAndGet("SELECT count(*) FROM reading").getInt64(), 1200 * 5);
  }
}

TEST_F(OldReadings, TheRestOfThatDatabaseIsAsItWas) {
  store_ = open_or_fail(path_);
  EXPECT_EQ(store_->machine(1).value(), example_machine());
  Experiment experiment = example_experiment();
  experiment.id = 1;
  EXPECT_EQ(store_->experiment(1).value(), experiment);
  EXPECT_EQ(store_->builds(1)->size(), 1U);
  EXPECT_EQ(store_->events(1)->size(), 1U);
  EXPECT_EQ(store_->progress(1)->size(), 1200U);
}

TEST_F(OldReadings, ATrialThatIsDamagedOrLacksOneStaysDamaged) {
  cheat(path_,
        "UPDATE reading SET value = 1 WHERE trial = 2 AND ordinal = 0; DELETE FROM reading WHERE "
        "trial = 600 AND ordinal = 4; UPDATE trial SET wall_ns = 1 WHERE id = 700");
  store_ = open_or_fail(path_);
  const std::string none = ": it has 0 readings in place of 5\n";
  EXPECT_EQ(damage(), "trial 700: its content does not match its checksum\ntrial 2" + none +
                          "trial 600" + none);
  const auto read = store_->for_each_trial(1, [](const Trial&) { return true; });
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("row 2 of table trial is damaged"));
}

TEST_F(OldReadings, AFileThatCannotBeReadIsLeftAsItIsAndCanBeRecovered) {
  std::string bytes = read_file(path_, 1 << 26).value();
  const std::int64_t root =
      SQLite::Database(path_)
          .execAndGet("SELECT rootpage FROM sqlite_schema WHERE name = 'reading'")
          .getInt64();
  bytes.replace(static_cast<std::size_t>(root - 1) * 4096, 4096, std::string(4096, '\x5a'));
  write_text(path_, bytes);
  const auto refused = Store::open(path_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'stabctl recover'"));
  EXPECT_EQ(SQLite::Database(path_).execAndGet("PRAGMA user_version").getInt(), 6);
  const auto found = recover(path_, directory_ / "whole.db");
  ASSERT_TRUE(found) << found.error().message;
  store_ = open_or_fail(directory_ / "whole.db");
  EXPECT_EQ(damage(), "");
  EXPECT_EQ(trials_of(*store_, 1).size(), 1200U);  // the root holds no rows
}

TEST_F(OldReadings, OfAWholeOldDatabaseRecoveryLosesNothing) {
  const auto found = recover(path_, directory_ / "whole.db");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->lost_nothing());
  store_ = open_or_fail(directory_ / "whole.db");
  EXPECT_EQ(damage(), "");
  EXPECT_EQ(trials_of(*store_, 1).size(), 1200U);
}

TEST_F(OldReadings, WithOneThatIsDamagedRecoveryLosesItsTrial) {
  cheat(path_, "UPDATE reading SET value = 1 WHERE trial = 7 AND ordinal = 0");
  const auto found = recover(path_, directory_ / "whole.db");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->lost_nothing());
  store_ = open_or_fail(directory_ / "whole.db");
  EXPECT_EQ(damage(), "");
  EXPECT_EQ(trials_of(*store_, 1).size(), 1199U);
}

// As version 7 wrote it, which had no column for samples.
TEST(Schema, AnEarlierDatabaseGetsSamplesAndKeepsItsTrials) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  Trial old;
  {
    Connection connection(path);
    migrate(connection, schema_steps().first(7));
    connection.transaction([&] {
      old = example_trial(connection.insert("experiment", to_row(example_experiment())), 0);
      old.samples.clear();
      old.profile = {};
      old.causal = "";
      Row row;
      for (const auto& [column, value] : to_row(old).values())
        if (column != "sample_list" && column != "profile" && column != "causal")
          row.set_value(column, value);
      connection.insert("trial", row);
    });
  }
  const auto store = open_or_fail(path);
  EXPECT_TRUE(store->verify().value().empty());
  const Trial fresh = example_trial(old.experiment, 1);
  ASSERT_TRUE(store->add_trial(fresh));
  EXPECT_THAT(trials_of(*store, old.experiment), testing::ElementsAre(old, fresh));
  EXPECT_TRUE(store->verify().value().empty());
  EXPECT_EQ(SQLite::Database(path + ".before-v8").execAndGet("PRAGMA user_version").getInt(), 7);
}

// As version 9 wrote it, which had no column for profiles.
TEST(Schema, AnEarlierDatabaseGetsProfilesAndKeepsItsTrials) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  Trial old;
  {
    Connection connection(path);
    migrate(connection, schema_steps().first(9));
    connection.transaction([&] {
      old = example_trial(connection.insert("experiment", to_row(example_experiment())), 0);
      old.profile = {};
      old.causal = "";
      Row row;
      for (const auto& [column, value] : to_row(old).values())
        if (column != "profile" && column != "causal") row.set_value(column, value);
      connection.insert("trial", row);
    });
  }
  const auto store = open_or_fail(path);
  EXPECT_TRUE(store->verify().value().empty());
  const Trial fresh = example_trial(old.experiment, 1);
  ASSERT_TRUE(store->add_trial(fresh));
  EXPECT_THAT(trials_of(*store, old.experiment), testing::ElementsAre(old, fresh));
  EXPECT_TRUE(store->verify().value().empty());
  EXPECT_EQ(SQLite::Database(path + ".before-v10").execAndGet("PRAGMA user_version").getInt(), 9);
}

// As version 10 wrote it, which had no column for causal profiles.
TEST(Schema, AnEarlierDatabaseGetsCausalProfilesAndKeepsItsTrials) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  Trial old;
  {
    Connection connection(path);
    migrate(connection, schema_steps().first(10));
    connection.transaction([&] {
      old = example_trial(connection.insert("experiment", to_row(example_experiment())), 0);
      old.causal = "";
      Row row;
      for (const auto& [column, value] : to_row(old).values())
        if (column != "causal") row.set_value(column, value);
      connection.insert("trial", row);
    });
  }
  const auto store = open_or_fail(path);
  EXPECT_TRUE(store->verify().value().empty());
  const Trial fresh = example_trial(old.experiment, 1);
  ASSERT_TRUE(store->add_trial(fresh));
  EXPECT_THAT(trials_of(*store, old.experiment), testing::ElementsAre(old, fresh));
  EXPECT_TRUE(store->verify().value().empty());
  EXPECT_EQ(SQLite::Database(path + ".before-v11").execAndGet("PRAGMA user_version").getInt(), 10);
}

}  // namespace
}  // namespace stab::store
