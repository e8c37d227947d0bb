// SPDX-License-Identifier: MIT
// A database that an earlier version wrote gets what came later, and keeps its rows.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "store/rows/codec.h"
#include "store/schema.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::ElementsAre;

// As versions before the fifth wrote it.
Row first_experiment() {
  return without(to_row(example_experiment()), {"duration_ns", "priority", "held_by"});
}

// A trial that such a version stored, without the columns that came later, stands there beside one of today.
void expect_kept(int version, const Row& of, Trial old, const Columns& later) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  {
    Connection connection(path);
    migrate(connection, schema_steps().first(static_cast<std::size_t>(version)));
    connection.transaction([&] {
      old.experiment = connection.insert("experiment", of);
      connection.insert("trial", without(to_row(old), later));
    });
  }
  const auto store = open_or_fail(path);
  EXPECT_THAT(store->verify().value(), testing::IsEmpty());
  const Trial fresh = example_trial(old.experiment, 1);
  ASSERT_TRUE(store->add_trial(fresh));
  EXPECT_THAT(trials_of(*store, old.experiment), ElementsAre(old, fresh));
  EXPECT_THAT(store->verify().value(), testing::IsEmpty());
  const std::string copy = path + ".before-v" + std::to_string(version + 1);
  EXPECT_EQ(SQLite::Database(copy).execAndGet("PRAGMA user_version").getInt(), version);
}

TEST(Schema, TrialsOfTheFirstVersionHaveNoLayoutAndStayIntact) {
  Columns later{"reading_list", "sample_list", "profile", "causal"};
  for_each_layout_column(
      [&](const LayoutColumn& column, auto) { later.emplace_back(column.name); });
  Trial old = example_trial(0, 0);
  old.layout = {};
  old.readings.clear();
  old.samples.clear();
  old.profile = {};
  old.causal = "";
  expect_kept(1, first_experiment(), old, later);
}

TEST(Schema, AnEarlierDatabaseGetsSamplesAndKeepsItsTrials) {
  Trial old = example_trial(0, 0);
  old.samples.clear();
  old.profile = {};
  old.causal = "";
  expect_kept(7, to_row(example_experiment()), old, {"sample_list", "profile", "causal"});
}

TEST(Schema, AnEarlierDatabaseGetsProfilesAndKeepsItsTrials) {
  Trial old = example_trial(0, 0);
  old.profile = {};
  old.causal = "";
  expect_kept(9, to_row(example_experiment()), old, {"profile", "causal"});
}

TEST(Schema, AnEarlierDatabaseGetsCausalProfilesAndKeepsItsTrials) {
  Trial old = example_trial(0, 0);
  old.causal = "";
  expect_kept(10, to_row(example_experiment()), old, {"causal"});
}

TEST(Schema, AnExperimentKeepsItsDurationAndAnOldOneHasNone) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  {
    Connection connection(path);
    migrate(connection, schema_steps().first(4));
    connection.transaction([&] { connection.insert("experiment", first_experiment()); });
  }
  const auto store = open_or_fail(path);
  Experiment experiment = store->experiment(1).value().value();
  EXPECT_EQ(experiment.duration_ns, std::nullopt);
  experiment.duration_ns = 0;
  ASSERT_TRUE(store->update_experiment(experiment));
  EXPECT_EQ(store->experiment(1).value(), experiment);
  EXPECT_TRUE(store->verify().value().empty());
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
      experiment = connection.insert("experiment", first_experiment());
    });
  }
  const auto store = open_or_fail(path);
  EXPECT_EQ(store->machine(machine).value(), example_machine());
  EXPECT_TRUE(store->calibrations(machine)->empty());
  ASSERT_TRUE(store->add_calibrations({example_calibration(machine, experiment)}));
  EXPECT_THAT(store->calibrations(machine).value(),
              ElementsAre(example_calibration(machine, experiment)));
  EXPECT_TRUE(store->verify().value().empty());
}

}  // namespace
}  // namespace stab::store
