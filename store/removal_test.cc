// SPDX-License-Identifier: MIT
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "store/recover.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Removal : public WithStore {
 protected:
  void fill(Id experiment, std::uint32_t trials) {
    for (std::uint32_t position = 0; position < trials; ++position)
      add(example_trial(experiment, position));
    ASSERT_TRUE(store_->add_build({.experiment = experiment,
                                   .key = "k",
                                   .benchmark = "sort",
                                   .status = BuildStatus::built,
                                   .binary_sha256 = "abc",
                                   .output = "a warning"}));
    ASSERT_TRUE(store_->add_event({.experiment = experiment, .kind = "state", .text = "done"}));
  }
  int remove(Id experiment) {
    EXPECT_TRUE(store_->begin_removal(experiment, "somebody removed it"));
    return go_on(experiment);
  }
  int go_on(Id experiment) {
    int pieces = 1;
    for (;; ++pieces) {
      const auto more = store_->go_on_with_removal(experiment);
      EXPECT_TRUE(more) << (more ? "" : more.error().message);
      if (!more.value_or(false)) return pieces;
    }
  }
  std::int64_t count(const std::string& what) const {
    SQLite::Database database(path_);
    return database.execAndGet("SELECT count(*) FROM " + what).getInt64();
  }
};

TEST_F(Removal, TakesAllRowsOfOneExperimentAndNoneOfOthers) {
  const Id other = store_->add_experiment(example_experiment()).value();
  fill(experiment_, 120);
  fill(other, 3);
  EXPECT_EQ(store_->content(experiment_)->trials, 120U);
  EXPECT_EQ(store_->content(experiment_)->builds, 1U);
  EXPECT_EQ(store_->content(experiment_)->events, 1U);
  // 50, 50 and 20 trials, the event, the build, the experiment.
  EXPECT_EQ(remove(experiment_), 6);
  EXPECT_EQ(count("trial"), 3);
  EXPECT_EQ(count("reading"), 15);  // the view
  EXPECT_EQ(count("build"), 1);
  EXPECT_EQ(count("experiment"), 1);
  EXPECT_EQ(trials_of(*store_, other).size(), 3U);
  EXPECT_THAT(store_->verify().value(), IsEmpty());
  ASSERT_EQ(store_->events(0)->size(), 1U);
  EXPECT_EQ(store_->events(0)->front().text, "somebody removed it");
}

TEST_F(Removal, LargeRowsGoInSmallerPieces) {
  for (std::uint32_t position = 0; position < 10; ++position) {
    Trial trial = example_trial(experiment_, position);
    trial.stderr_tail = std::string(bytes_of_removal / 2, 'x');
    add(trial);
    ASSERT_TRUE(
        store_->add_event({.experiment = experiment_, .text = std::string(bytes_of_removal, 'y')}));
  }
  // Two trials a piece, an event a piece, the experiment.
  EXPECT_EQ(remove(experiment_), 5 + 10 + 1);
  EXPECT_EQ(count("trial") + count("event WHERE experiment NOT NULL"), 0);
  const Id profiled = store_->add_experiment(example_experiment()).value();
  for (std::uint32_t position = 0; position < 10; ++position) {
    Trial trial = example_trial(profiled, position);
    if (position % 2 == 0)
      trial.causal = '"' + std::string(bytes_of_removal, 'z') + '"';
    else
      trial.profile.functions.front().name = std::string(bytes_of_removal, 'f');
    add(trial);
  }
  // A trial a piece, the experiment.
  EXPECT_EQ(remove(profiled), 10 + 1);
}

TEST_F(Removal, NobodySeesWhatIsBeingRemovedAndItGoesOnAfterAKill) {
  fill(experiment_, 120);
  ASSERT_TRUE(store_->begin_removal(experiment_, "why"));
  ASSERT_TRUE(store_->go_on_with_removal(experiment_).value());
  reopen();
  EXPECT_EQ(store_->experiment(experiment_).value(), std::nullopt);
  EXPECT_THAT(store_->experiments()->intact, IsEmpty());
  EXPECT_THAT(store_->removals().value(), ElementsAre(experiment_));
  EXPECT_THAT(store_->verify().value(), IsEmpty());
  go_on(experiment_);
  EXPECT_THAT(store_->removals().value(), IsEmpty());
  EXPECT_EQ(count("trial") + count("reading") + count("build") + count("experiment"), 0);
}

TEST_F(Removal, TheIdIsNotGivenToAnotherExperiment) {
  const Id second = store_->add_experiment(example_experiment()).value();
  remove(second);
  reopen();
  const Id third = store_->add_experiment(example_experiment()).value();
  EXPECT_EQ(third, second + 1);
  remove(experiment_);
  remove(third);
  EXPECT_EQ(store_->add_experiment(example_experiment()).value(), third + 1);
}

TEST_F(Removal, TheIdIsNotGivenToAnotherHoweverTheyAreRemoved) {
  const Id second = store_->add_experiment(example_experiment()).value();
  const Id third = store_->add_experiment(example_experiment()).value();
  remove(third);
  remove(second);
  EXPECT_EQ(store_->add_experiment(example_experiment()).value(), third + 1);
}

TEST_F(Removal, AnUnknownExperimentIsAnError) {
  const auto begun = store_->begin_removal(77, "why");
  ASSERT_FALSE(begun);
  EXPECT_THAT(begun.error().message, HasSubstr("there is no experiment 77"));
}

TEST_F(Removal, CalibrationsOfRootAndTheOwnerStayAsTheMachines) {
  const Id machine = store_->add_machine(example_machine()).value();
  Experiment of_owner = example_experiment();
  of_owner.uid = geteuid();
  const Id id = store_->add_experiment(of_owner).value();
  ASSERT_TRUE(store_->add_calibrations({example_calibration(machine, id)}));
  remove(id);
  Calibration expected = example_calibration(machine, id);
  expected.experiment = 0;
  EXPECT_THAT(store_->calibrations(machine).value(), ElementsAre(expected));
  EXPECT_THAT(store_->verify().value(), IsEmpty());
}

// Later nobody could tell whose they were, and they would count for everybody.
TEST_F(Removal, CalibrationsOfAUserGoWithTheirExperiment) {
  const Id machine = store_->add_machine(example_machine()).value();
  Experiment of_user = example_experiment();
  of_user.uid = geteuid() + 1000;
  const Id id = store_->add_experiment(of_user).value();
  ASSERT_TRUE(store_->add_calibrations({example_calibration(machine, id)}));
  remove(id);
  EXPECT_THAT(store_->calibrations(machine).value(), IsEmpty());
}

TEST_F(Removal, DamagedTrialsGoToo) {
  fill(experiment_, 2);
  store_.reset();
  SQLite::Database(path_, SQLite::OPEN_READWRITE).exec("UPDATE trial SET wall_ns = 1 WHERE id = 1");
  reopen();
  remove(experiment_);
  EXPECT_EQ(count("trial"), 0);
  EXPECT_THAT(store_->verify().value(), IsEmpty());
}

// What recovery finds on pages without a tree is nothing that somebody removed.
TEST_F(Removal, IsForGoodAlsoWhereTheDatabaseIsDamagedLater) {
  const Id other = store_->add_experiment(example_experiment()).value();
  fill(experiment_, 200);
  fill(other, 3);
  remove(experiment_);
  store_.reset();
  SQLite::Database(path_, SQLite::OPEN_READWRITE)
      .exec("UPDATE event SET text = 'changed' WHERE experiment NOT NULL");
  const auto found = recover(path_, directory_ / "whole.db");
  ASSERT_TRUE(found) << found.error().message;
  store_ = open_or_fail(directory_ / "whole.db");
  EXPECT_EQ(store_->experiment(experiment_).value(), std::nullopt);
  EXPECT_EQ(store_->content(experiment_)->trials, 0U);
  EXPECT_EQ(store_->content(other)->trials, 3U);
}

TEST_F(Removal, ItsPagesAreUsedAgain) {
  fill(experiment_, 200);
  store_->experiments();
  const auto pages = [&] {
    return SQLite::Database(path_).execAndGet("PRAGMA page_count").getInt64();
  };
  const std::int64_t before = pages();
  remove(experiment_);
  EXPECT_EQ(pages(), before);  // the file does not shrink
  const Id next = store_->add_experiment(example_experiment()).value();
  fill(next, 200);
  EXPECT_LE(pages(), before + 2);
  remove(next);
  store_.reset();
  SQLite::Database(path_, SQLite::OPEN_READWRITE).exec("VACUUM");
  EXPECT_LT(pages(), before / 2);
  store_ = open_or_fail(path_);
  EXPECT_THAT(store_->verify().value(), IsEmpty());
}

class Retention : public Removal {
 protected:
  int forget(Id experiment) {
    int pieces = 0;
    for (std::optional<Store::Place> place = Store::Place(); place; ++pieces) {
      auto next = store_->forget_output(experiment, *place, "it is old");
      EXPECT_TRUE(next) << (next ? "" : next.error().message);
      place = next.value_or(std::nullopt);
    }
    return pieces;
  }
};

TEST_F(Retention, TakesWhatTrialsAndBuildsPrintedAndNothingElse) {
  fill(experiment_, 70);
  add(example_trial(experiment_, 69, 1));
  std::vector<Trial> expected = trials_of(*store_, experiment_);
  EXPECT_EQ(forget(experiment_), 3);
  for (Trial& trial : expected) trial.stderr_tail = "";
  EXPECT_EQ(trials_of(*store_, experiment_), expected);
  EXPECT_EQ(store_->builds(experiment_)->front().output, "");
  EXPECT_EQ(store_->builds(experiment_)->front().binary_sha256, "abc");
  EXPECT_EQ(store_->events(experiment_)->back().text, "it is old");
  EXPECT_THAT(store_->verify().value(), IsEmpty());
}

TEST_F(Retention, LargeRowsGoInSmallerPieces) {
  for (std::uint32_t position = 0; position < 10; ++position) {
    Trial trial = example_trial(experiment_, position);
    trial.causal = '"' + std::string(bytes_of_removal, 'z') + '"';
    add(trial);
    ASSERT_TRUE(store_->add_build({.experiment = experiment_,
                                   .key = std::to_string(position),
                                   .benchmark = "sort",
                                   .output = std::string(bytes_of_removal / 2, 'x')}));
  }
  // A trial a piece, two builds a piece, the event.
  EXPECT_EQ(forget(experiment_), 10 + 5 + 1);
  EXPECT_EQ(count("trial WHERE stderr_tail <> ''") + count("build WHERE output <> ''"), 0);
  EXPECT_THAT(store_->verify().value(), IsEmpty());
}

TEST_F(Retention, ManyTrialsThatPrintedNothingAreAPiece) {
  std::vector<Trial> silent;
  for (std::uint32_t position = 0; position < 120; ++position)
    silent.push_back({.experiment = experiment_, .position = position});
  ASSERT_TRUE(store_->add_trials(silent));
  EXPECT_EQ(forget(experiment_), 1 + 1);
}

TEST_F(Retention, KeepsTheClockAndTheEndsThatWereSeen) {
  using SeenEnd = Store::SeenEnd;
  EXPECT_EQ(store_->age_clock().value(), "");
  EXPECT_THAT(store_->seen_ends().value(), IsEmpty());
  const SeenEnd end{.experiment = experiment_, .ended_ns = -7, .seen_ns = 8};
  ASSERT_TRUE(store_->keep_ages("1 2 boot", std::array{end, SeenEnd{.experiment = 77}}));
  reopen();
  EXPECT_EQ(store_->age_clock().value(), "1 2 boot");
  EXPECT_THAT(store_->seen_ends().value(), ElementsAre(end, SeenEnd{.experiment = 77}));
  forget(experiment_);
  SeenEnd without = end;
  without.output_forgotten = true;
  EXPECT_THAT(store_->seen_ends().value(), ElementsAre(without, SeenEnd{.experiment = 77}));
  // It has ended anew.
  const SeenEnd again{.experiment = experiment_, .ended_ns = 20, .seen_ns = 21};
  ASSERT_TRUE(store_->keep_ages("3 4 boot", std::array{again}));
  EXPECT_THAT(store_->seen_ends().value(), ElementsAre(again, SeenEnd{.experiment = 77}));
  remove(experiment_);
  EXPECT_THAT(store_->seen_ends().value(), ElementsAre(SeenEnd{.experiment = 77}));
  EXPECT_THAT(store_->verify().value(), IsEmpty());
}

TEST_F(Retention, ADamagedRowStaysAsItIs) {
  fill(experiment_, 2);
  store_.reset();
  SQLite::Database(path_, SQLite::OPEN_READWRITE).exec("UPDATE trial SET wall_ns = 1 WHERE id = 1");
  reopen();
  forget(experiment_);
  const auto damage = store_->verify().value();
  ASSERT_EQ(damage.size(), 1U);
  EXPECT_EQ(damage.front().row, 1);
  EXPECT_EQ(count("trial WHERE stderr_tail <> ''"), 1);
}

TEST_F(Removal, TheRowOfAMachineGoesWithTheLastThatRefersToIt) {
  const Id machine = store_->add_machine(example_machine()).value();
  const Id calibrated = store_->add_machine({.key = "c", .host = "lab", .facts = "{}"}).value();
  Experiment row = example_experiment();
  row.machine = machine;
  const Id first = store_->add_experiment(row).value();
  const Id second = store_->add_experiment(row).value();
  row.machine = calibrated;
  row.uid = geteuid();  // whose calibrations stay
  const Id third = store_->add_experiment(row).value();
  ASSERT_TRUE(store_->add_calibrations({example_calibration(calibrated, third)}));
  remove(first);
  EXPECT_TRUE(store_->machine(machine).value());
  remove(third);
  EXPECT_TRUE(store_->machine(calibrated).value());
  remove(second);
  EXPECT_FALSE(store_->machine(machine).value());
  EXPECT_THAT(store_->verify().value(), IsEmpty());
}

}  // namespace
}  // namespace stab::store
