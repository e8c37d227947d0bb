// SPDX-License-Identifier: MIT
// S4: what was changed behind the store's back is found, and is not used.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::HasSubstr;

class DamageTest : public WithStore {
 protected:
  DamageTest() {
    Experiment experiment = store_->experiment(experiment_).value().value();
    experiment.machine = store_->add_machine(example_machine()).value();
    EXPECT_TRUE(store_->update_experiment(experiment));
    EXPECT_TRUE(store_->add_build({.experiment = experiment_, .key = "k", .benchmark = "sort"}));
    EXPECT_TRUE(store_->add_calibrations({example_calibration(experiment.machine, experiment_)}));
    EXPECT_TRUE(store_->add_event({.experiment = experiment_, .kind = "state", .text = "queued"}));
    for (std::uint32_t i = 0; i < 3; ++i) add(example_trial(experiment_, i));
  }

  // The one damaged row that verify() finds, as "table 3: problem"; the other answers are shown as
  // they are.
  std::string found(std::optional<Id> experiment = std::nullopt) {
    const auto damage = store_->verify(experiment);
    if (!damage) return damage.error().message;
    std::string text;
    for (const Damage& one : *damage)
      text += one.table + " " + std::to_string(one.row) + ": " + one.problem + "\n";
    return text;
  }

  std::string error_of_trials() {
    const auto read = store_->for_each_trial(experiment_, [](const Trial&) { return true; });
    return read ? "" : read.error().message;
  }
};

const std::string mismatch = ": the row's content does not match its checksum\n";

TEST_F(DamageTest, AnIntactStoreHasNone) {
  EXPECT_EQ(found(), "");
  EXPECT_EQ(found(experiment_), "");
}

TEST_F(DamageTest, AChangedCellOfEveryTableIsFound) {
  const std::vector<std::pair<std::string, std::string>> cells{{"meta", "value = 'x'"},
                                                               {"machine", "host = 'x'"},
                                                               {"experiment", "plan = plan || ' '"},
                                                               {"build", "duration_ns = 1"},
                                                               {"trial", "wall_ns = wall_ns + 1"},
                                                               {"calibration", "margin = 0.001"},
                                                               {"event", "text = ''"}};
  for (const auto& [table, change] : cells) {
    cheat(path_, fmt::format("UPDATE {} SET {} WHERE id = 1", table, change));
    EXPECT_THAT(found(), HasSubstr(fmt::format("{} 1{}", table, mismatch)));
  }
}

TEST_F(DamageTest, EveryColumnOfATrialIsCovered) {
  SQLite::Database raw(path_, SQLite::OPEN_READWRITE, 2000);
  SQLite::Statement columns(raw, "SELECT name, type FROM pragma_table_info('trial')");
  int tried = 0;
  while (columns.executeStep()) {
    const std::string name = columns.getColumn(0).getString();
    if (name == "id") continue;
    const std::string kept =
        raw.execAndGet(fmt::format("SELECT quote({}) FROM trial WHERE id = 2", name)).getString();
    const auto* change = columns.getColumn(1).getString() == "TEXT" ? "|| 'x'" : "+ 1000";
    raw.exec(fmt::format("UPDATE trial SET {0} = {0} {1} WHERE id = 2", name, change));
    EXPECT_EQ(found(), "trial 2" + mismatch) << name;
    raw.exec(fmt::format("UPDATE trial SET {} = {} WHERE id = 2", name, kept));
    ++tried;
  }
  EXPECT_EQ(tried, 51);
  EXPECT_EQ(found(), "");
}

TEST_F(DamageTest, NullInPlaceOfAValueIsFound) {
  cheat(path_, "UPDATE trial SET exit_code = NULL WHERE id = 1");
  EXPECT_EQ(found(), "trial 1" + mismatch);
}

TEST_F(DamageTest, AChangedTrialIsNotUsed) {
  cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE id = 2");
  EXPECT_THAT(error_of_trials(), HasSubstr("row 2 of table trial is damaged"));
  EXPECT_THAT(error_of_trials(), HasSubstr("Restore the database from a copy"));
  const auto progress = store_->progress(experiment_);
  ASSERT_FALSE(progress);
  EXPECT_THAT(progress.error().message, HasSubstr("row 2 of table trial"));
}

TEST_F(DamageTest, AChangedReadingIsNotUsed) {
  cheat(path_,
        "UPDATE trial SET reading_list = replace(reading_list, '123456789', '3') WHERE id = 2");
  EXPECT_EQ(found(), "trial 2" + mismatch);
  EXPECT_THAT(error_of_trials(), HasSubstr("row 2 of table trial is damaged"));
}

TEST_F(DamageTest, ReadingsThatAreGoneAreNoticed) {
  cheat(path_, "UPDATE trial SET reading_list = NULL WHERE id = 2");
  EXPECT_EQ(found(), "trial 2" + mismatch);
  EXPECT_THAT(error_of_trials(), HasSubstr("row 2 of table trial is damaged"));
}

// What an export has columns for comes from rows that are not checked.
TEST_F(DamageTest, NamesAreThoseOfTheOtherTrialsWhereAListIsDamaged) {
  cheat(path_, "UPDATE trial SET reading_list = 'x' WHERE id = 2");
  EXPECT_EQ(store_->names(experiment_)->readings.size(), example_readings().size());
}

TEST_F(DamageTest, AChangedExperimentMachineBuildOrEventIsNotUsed) {
  cheat(path_,
        "UPDATE experiment SET plan = ''; UPDATE machine SET facts = ''; UPDATE build SET output = "
        "'x';"
        "UPDATE event SET at_ns = 7");
  for (const StoreError& error :
       {store_->experiment(experiment_).error(), store_->machine(1).error(),
        store_->builds(experiment_).error(), store_->events(experiment_).error()}) {
    EXPECT_THAT(error.message, HasSubstr("row 1 of table"));
    EXPECT_FALSE(error.temporary);
  }
}

TEST_F(DamageTest, AMachineWhoseRowIsDamagedGetsAnother) {
  cheat(path_, "UPDATE machine SET facts = ''");
  const Id other = store_->add_machine(example_machine()).value();
  EXPECT_EQ(other, 2);
  EXPECT_EQ(store_->add_machine(example_machine()).value(), other);
  EXPECT_EQ(store_->machine(other).value()->facts, example_machine().facts);
  EXPECT_EQ(found(), "machine 1" + mismatch);
}

TEST_F(DamageTest, ADamagedExperimentHidesNoOther) {
  const Id other = store_->add_experiment(example_experiment()).value();
  cheat(path_, "UPDATE experiment SET plan = '' WHERE id = 1");
  const auto experiments = store_->experiments().value();
  ASSERT_EQ(experiments.intact.size(), 1U);
  EXPECT_EQ(experiments.intact[0].id, other);
  ASSERT_EQ(experiments.damaged.size(), 1U);
  EXPECT_EQ(experiments.damaged[0].row, experiment_);
}

TEST_F(DamageTest, AnExperimentIsVerifiedAlone) {
  const Id other = store_->add_experiment(example_experiment()).value();
  add(example_trial(other, 0));
  cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE id = 1; UPDATE meta SET value = ''");
  EXPECT_EQ(found(other), "");
  EXPECT_EQ(found(experiment_), "trial 1" + mismatch);
}

TEST_F(DamageTest, ADamagedAttemptIsNotSealedWithANewChecksum) {
  cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE id = 1");
  const auto added = store_->add_trial(example_trial(experiment_, 0, 1));
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr("row 1 of table trial is damaged"));
  EXPECT_EQ(found(), "trial 1" + mismatch);
}

TEST_F(DamageTest, ADamagedIndexIsFound) {
  cheat(path_,
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX "
        "event_of_experiment ON event (kind)' "
        "WHERE name = 'event_of_experiment'");
  reopen();
  EXPECT_THAT(found(), HasSubstr("database 0: "));
}

}  // namespace
}  // namespace stab::store
