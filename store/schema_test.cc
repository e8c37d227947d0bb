// SPDX-License-Identifier: MIT
#include "store/schema.h"

#include <gmock/gmock.h>

#include <array>
#include <string>

#include "store/exceptions.h"
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
    EXPECT_THAT(failure.what(), HasSubstr("version 2, but this stabd knows versions up to 1"));
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
  EXPECT_THAT(store.error().message, HasSubstr("the database's schema has version 1000"));
  cheat(path, "PRAGMA user_version = " + std::to_string(schema_version));
  EXPECT_TRUE(Store::open(path));
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

}  // namespace
}  // namespace stab::store
