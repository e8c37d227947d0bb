// SPDX-License-Identifier: MIT
#include "store/store.h"

#include <gmock/gmock.h>

#include "store/exceptions.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using StoreTest = WithStore;

TEST_F(StoreTest, MachineReadsBack) {
  const Id id = store_->add_machine(example_machine()).value();
  reopen();
  EXPECT_EQ(store_->machine(id).value(), example_machine());
  EXPECT_EQ(store_->machine(id + 1).value(), std::nullopt);
}

TEST_F(StoreTest, TheSameMachineIsStoredOnce) {
  Machine other = example_machine();
  other.key = "beef";
  const Id id = store_->add_machine(example_machine()).value();
  EXPECT_NE(store_->add_machine(other).value(), id);
  EXPECT_EQ(store_->add_machine(example_machine()).value(), id);
}

TEST_F(StoreTest, AKeyDoesNotGiveAMachineTheFactsOfAnother) {
  Machine false_one = example_machine();
  false_one.facts = R"({"host":"false"})";
  const Id first = store_->add_machine(false_one).value();
  const Id id = store_->add_machine(example_machine()).value();
  EXPECT_NE(id, first);
  EXPECT_EQ(store_->machine(id).value()->facts, example_machine().facts);
  EXPECT_EQ(store_->add_machine(example_machine()).value(), id);
  EXPECT_EQ(store_->add_machine(false_one).value(), first);
}

TEST_F(StoreTest, ExperimentReadsBackWithAllFields) {
  Experiment experiment = example_experiment();
  experiment.machine = store_->add_machine(example_machine()).value();
  experiment.id = store_->add_experiment(experiment).value();
  reopen();
  EXPECT_EQ(store_->experiment(experiment.id).value(), experiment);
  EXPECT_EQ(store_->experiment(999).value(), std::nullopt);
}

TEST_F(StoreTest, WhyTrialsEndedEarlyAndWhereTheyRanReadsBack) {
  for (const auto cause : {std::optional(StopCause::time), std::optional(StopCause::rule), {}}) {
    Experiment experiment = example_experiment();
    experiment.stopped_by = cause;
    experiment.trial_cpus = "0,2-3";
    experiment.id = store_->add_experiment(experiment).value();
    reopen();
    EXPECT_EQ(store_->experiment(experiment.id).value(), experiment);
  }
  Row row = to_row(example_experiment());
  row.set("id", std::int64_t{1});
  row.set("stopped_by", "boredom");
  EXPECT_THROW(to_experiment(row), Failure);
}

TEST_F(StoreTest, HowQuietTheMachineWasReadsBack) {
  for (const auto quietness :
       {std::optional(Quietness::good), std::optional(Quietness::poor), {}}) {
    Experiment experiment = example_experiment();
    experiment.quietness = quietness;
    experiment.id = store_->add_experiment(experiment).value();
    reopen();
    EXPECT_EQ(store_->experiment(experiment.id).value(), experiment);
  }
  Row row = to_row(example_experiment());
  row.set("id", std::int64_t{1});
  row.set("quietness", "loud");
  EXPECT_THROW(to_experiment(row), Failure);
}

TEST_F(StoreTest, TheSourceTheNodesAndTheHeapLayerReadBack) {
  Experiment experiment = example_experiment();
  experiment.source_branch = "main";
  experiment.source_commit = std::string(40, 'a');
  experiment.nodes = {{.name = "n2", .hardware = "a \"CPU\"", .trial_cpus = "2-3"}, {.name = "n1"}};
  experiment.heap_layer = "[]";
  experiment.id = store_->add_experiment(experiment).value();
  reopen();
  EXPECT_EQ(store_->experiment(experiment.id).value(), experiment);
  Row row = to_row(experiment);
  row.set("id", std::int64_t{1});
  row.set("node_list", "[]");
  EXPECT_THROW(to_experiment(row), Failure);
}

TEST_F(StoreTest, ThePausedQueueStaysPausedUntilItIsResumed) {
  EXPECT_FALSE(store_->is_queue_paused().value());
  for (const bool paused : {true, false, true}) {
    ASSERT_TRUE(store_->pause_queue(paused, {.kind = "queue", .text = paused ? "on" : "off"}));
    reopen();
    EXPECT_EQ(store_->is_queue_paused().value(), paused);
    EXPECT_EQ(store_->events(0)->back().text, paused ? "on" : "off");
  }
  EXPECT_THAT(store_->verify().value(), testing::IsEmpty());
  cheat(path_, "UPDATE meta SET value = 'running' WHERE key = 'queue'");
  const auto unknown = store_->is_queue_paused();
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("of table meta is damaged"));
  EXPECT_FALSE(store_->pause_queue(false, {.kind = "queue", .text = "again"}));
  EXPECT_EQ(store_->events(0)->size(), 3U);
}

TEST_F(StoreTest, ExperimentReadsBackWithoutOptionalFields) {
  Experiment experiment{.name = "new", .state = "queued"};
  experiment.id = store_->add_experiment(experiment).value();
  reopen();
  EXPECT_EQ(store_->experiment(experiment.id).value(), experiment);
}

TEST_F(StoreTest, UpdateReplacesTheWholeExperiment) {
  Experiment experiment = store_->experiment(experiment_).value().value();
  experiment.state = "done";
  experiment.reason = "";
  experiment.started_ns = 0;
  ASSERT_TRUE(store_->update_experiment(experiment));
  reopen();
  EXPECT_EQ(store_->experiment(experiment_).value(), experiment);
}

TEST_F(StoreTest, UpdateOfAnUnknownExperimentIsAnError) {
  const auto updated = store_->update_experiment({.id = 77, .name = "ghost"});
  ASSERT_FALSE(updated);
  EXPECT_FALSE(updated.error().temporary);
  EXPECT_THAT(updated.error().message, HasSubstr("there is no row 77 in table experiment"));
}

TEST_F(StoreTest, ExperimentsComeOldestFirst) {
  const Id second = store_->add_experiment(example_experiment()).value();
  const auto all = store_->experiments().value().intact;
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, experiment_);
  EXPECT_EQ(all[1].id, second);
}

TEST_F(StoreTest, ANewStoreIsEmpty) {
  const auto fresh = open_or_fail(directory_ / "fresh.db");
  EXPECT_TRUE(fresh->experiments().value().intact.empty());
  EXPECT_TRUE(fresh->progress(1).value().empty());
  EXPECT_TRUE(fresh->builds(1).value().empty());
  EXPECT_TRUE(fresh->events(0).value().empty());
  EXPECT_TRUE(fresh->verify().value().empty());
}

TEST_F(StoreTest, ABuildReplacesTheOneOfTheSameBenchmarkAndKey) {
  Build build{.experiment = experiment_, .key = "k", .benchmark = "sort", .command = "cc sort.c"};
  Build other = build;
  other.benchmark = "list";
  ASSERT_TRUE(store_->add_build(build));
  ASSERT_TRUE(store_->add_build(other));
  build.status = BuildStatus::built;
  build.binary_sha256 = "abcd";
  build.output = "warning: x\n";
  build.duration_ns = 5;
  ASSERT_TRUE(store_->add_build(build));
  reopen();
  EXPECT_THAT(store_->builds(experiment_).value(), ElementsAre(build, other));
  EXPECT_TRUE(store_->verify().value().empty());
}

TEST_F(StoreTest, TrialReadsBackWithAllFields) {
  add(example_trial(experiment_, 3));
  reopen();
  EXPECT_THAT(trials_of(*store_, experiment_), ElementsAre(example_trial(experiment_, 3)));
}

TEST_F(StoreTest, TrialReadsBackWithoutOptionalFields) {
  const Trial trial{.experiment = experiment_};
  add(trial);
  reopen();
  EXPECT_THAT(trials_of(*store_, experiment_), ElementsAre(trial));
}

TEST_F(StoreTest, EachOptionalFieldIsKeptApartFromZero) {
  Trial zero{.experiment = experiment_, .position = 0};
  zero.exit_code = 0;
  zero.signal = 0;
  zero.wall_ns = zero.user_ns = zero.system_ns = zero.max_rss_bytes = 0;
  add(zero);
  Trial mixed{.experiment = experiment_, .position = 1};
  mixed.signal = 11;
  mixed.user_ns = 1;
  add(mixed);
  EXPECT_THAT(trials_of(*store_, experiment_), ElementsAre(zero, mixed));
}

TEST_F(StoreTest, TextKeepsEveryByte) {
  Trial trial = example_trial(experiment_, 0);
  trial.stderr_tail = std::string("a\0b'\"\xf0\x9f\x98\x80", 9);
  add(trial);
  EXPECT_EQ(trials_of(*store_, experiment_).at(0).stderr_tail, trial.stderr_tail);
  EXPECT_TRUE(store_->verify().value().empty());
}

TEST_F(StoreTest, TrialsComeInTheOrderOfPositionsAndAttempts) {
  for (const auto& [position, attempt] : {std::pair{2U, 0U}, {0U, 0U}, {0U, 1U}, {1U, 0U}})
    add(example_trial(experiment_, position, attempt));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  for (const Trial& trial : trials_of(*store_, experiment_))
    order.emplace_back(trial.position, trial.attempt);
  EXPECT_THAT(order,
              ElementsAre(std::pair(0, 0), std::pair(0, 1), std::pair(1, 0), std::pair(2, 0)));
}

TEST_F(StoreTest, TrialsOfOtherExperimentsStayOut) {
  const Id other = store_->add_experiment(example_experiment()).value();
  add(example_trial(other, 0));
  add(example_trial(experiment_, 1));
  EXPECT_THAT(trials_of(*store_, other), ElementsAre(example_trial(other, 0)));
}

TEST_F(StoreTest, TheReaderMayStopAndReadTheStoreMeanwhile) {
  for (std::uint32_t i = 0; i < 3; ++i) add(example_trial(experiment_, i));
  int outer = 0;
  ASSERT_TRUE(store_->for_each_trial(experiment_, [&](const Trial&) {
    EXPECT_EQ(trials_of(*store_, experiment_).size(), 3U);
    return ++outer < 2;
  }));
  EXPECT_EQ(outer, 2);
  add(example_trial(experiment_, 3));
}

TEST_F(StoreTest, AnAttemptIsStoredOnlyOnce) {  // S3
  add(example_trial(experiment_, 4));
  Trial again = example_trial(experiment_, 4);
  again.wall_ns = 1;
  const auto added = store_->add_trial(again);
  ASSERT_FALSE(added);
  EXPECT_FALSE(added.error().temporary);
  EXPECT_THAT(added.error().message, HasSubstr("trial 4 (attempt 0) of experiment 1"));
  EXPECT_THAT(added.error().message, HasSubstr("already stored"));
  EXPECT_THAT(trials_of(*store_, experiment_), ElementsAre(example_trial(experiment_, 4)));
}

TEST_F(StoreTest, ATrialOfAnUnknownExperimentIsAnError) {
  const auto added = store_->add_trial(example_trial(55, 0));
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr("refers to a row that does not exist"));
}

TEST_F(StoreTest, ALaterAttemptThatStandsTakesTheMark) {
  add(example_trial(experiment_, 0, 0));
  add(example_trial(experiment_, 1, 0));
  add(example_trial(experiment_, 0, 1));
  const auto trials = trials_of(*store_, experiment_);
  ASSERT_EQ(trials.size(), 3U);
  EXPECT_FALSE(trials[0].last);
  EXPECT_TRUE(trials[1].last);
  EXPECT_TRUE(trials[2].last);
  EXPECT_EQ(trials[0].readings, example_readings());
  EXPECT_TRUE(store_->verify().value().empty());
}

// The caller's word counts, because looking at the attempts takes time.
TEST_F(StoreTest, EarlierAttemptsAreNotLookedAtIfTheyAreKnownToHaveNoMark) {
  add(example_trial(experiment_, 0, 0));
  const std::vector<Trial> second{example_trial(experiment_, 0, 1)};
  ASSERT_TRUE(store_->add_trials(second, Store::Earlier::are_not_marked));
  EXPECT_TRUE(trials_of(*store_, experiment_).at(0).last);
  const std::vector<Trial> third{example_trial(experiment_, 0, 2)};
  ASSERT_TRUE(store_->add_trials(third));
  EXPECT_FALSE(trials_of(*store_, experiment_).at(0).last);
  EXPECT_FALSE(trials_of(*store_, experiment_).at(1).last);
}

TEST_F(StoreTest, AnAttemptThatDoesNotStandLeavesTheMark) {
  add(example_trial(experiment_, 0, 0));
  Trial retry = example_trial(experiment_, 0, 1);
  retry.last = false;
  add(retry);
  EXPECT_TRUE(trials_of(*store_, experiment_).at(0).last);
}

TEST_F(StoreTest, ProgressTellsAttemptsAndTheStatusOfTheLast) {
  Trial trial = example_trial(experiment_, 0, 0);
  trial.last = false;
  add(trial);
  trial.attempt = 1;
  trial.last = true;
  trial.status = TrialStatus::ok;
  add(trial);
  Trial failing = example_trial(experiment_, 5, 0);
  failing.last = false;
  failing.status = TrialStatus::timeout;
  add(failing);
  const auto progress = store_->progress(experiment_).value();
  ASSERT_EQ(progress.size(), 2U);
  EXPECT_EQ(progress[0].position, 0U);
  EXPECT_EQ(progress[0].attempts, 2U);
  EXPECT_TRUE(progress[0].done);
  EXPECT_EQ(progress[0].status, TrialStatus::ok);
  EXPECT_EQ(progress[1].position, 5U);
  EXPECT_EQ(progress[1].attempts, 1U);
  EXPECT_FALSE(progress[1].done);
  EXPECT_EQ(progress[1].status, TrialStatus::timeout);
}

TEST_F(StoreTest, EventsReadBackInOrderAndByExperiment) {
  const Event daemon{.experiment = 0, .at_ns = 3, .kind = "daemon", .text = "started"};
  const Event first{.experiment = experiment_, .at_ns = 9, .kind = "state", .text = "queued"};
  const Event second{.experiment = experiment_, .at_ns = 4, .kind = "state", .text = ""};
  for (const Event& event : {first, daemon, second}) ASSERT_TRUE(store_->add_event(event));
  reopen();
  EXPECT_THAT(store_->events(experiment_).value(), ElementsAre(first, second));
  EXPECT_THAT(store_->events(0).value(), ElementsAre(daemon));
}

TEST_F(StoreTest, CalibrationsBelongToTheirMachine) {
  const Id machine = store_->add_machine(example_machine()).value();
  Machine changed = example_machine();
  changed.key = "babe";
  const Id other = store_->add_machine(changed).value();
  const Calibration full = example_calibration(machine, experiment_);
  Calibration taken = full;  // from another database
  taken.experiment = 0;
  taken.at_ns -= 1;
  taken.scope = CalibrationScope::any;
  taken.benchmark = "";
  taken.margin = taken.margin_low = taken.margin_high = std::nullopt;
  ASSERT_TRUE(store_->add_calibrations({full, taken}));
  ASSERT_TRUE(store_->add_calibrations({example_calibration(other, experiment_)}));
  EXPECT_THAT(store_->calibrations(machine).value(), ElementsAre(taken, full));
  EXPECT_EQ(store_->calibrations(other)->size(), 1U);
  EXPECT_THAT(store_->calibrated_machines().value(), ElementsAre(machine, other));
  EXPECT_TRUE(store_->calibrations(7)->empty());
  EXPECT_TRUE(store_->verify().value().empty());
}

TEST_F(StoreTest, ACalibrationThatIsStoredAgainReplacesTheFirst) {
  const Id machine = store_->add_machine(example_machine()).value();
  Calibration calibration = example_calibration(machine, experiment_);
  ASSERT_TRUE(store_->add_calibrations({calibration}));
  calibration.significant = 7;
  calibration.margin = 0;
  ASSERT_TRUE(store_->add_calibrations({calibration}));
  reopen();
  EXPECT_THAT(store_->calibrations(machine).value(), ElementsAre(calibration));
}

TEST_F(StoreTest, OfCalibrationsAllOrNoneAreStored) {
  const Id machine = store_->add_machine(example_machine()).value();
  EXPECT_FALSE(store_->add_calibrations(
      {example_calibration(machine, experiment_), example_calibration(machine + 1, experiment_)}));
  EXPECT_TRUE(store_->calibrations(machine)->empty());
}

// All pieces of a retry (stabd/upkeep.h); how many attempts stand no longer.
std::uint64_t open_again(Store& store, const Experiment& row) {
  const std::uint64_t failed = store.failed(row.id, {}).value().count;
  EXPECT_TRUE(store.begin_retry(row, store.experiment(row.id).value()->state));
  for (std::optional<Store::Place> place = Store::Place(); place;)
    place = store.go_on_with_retry(row.id, *place).value();
  EXPECT_TRUE(store.update_experiment(row));
  return failed;
}

TEST_F(StoreTest, PositionsWithoutASuccessAreOpenedAgain) {
  Trial good = example_trial(experiment_, 0);
  good.status = TrialStatus::ok;
  add(good);
  add(example_trial(experiment_, 1));
  add(example_trial(experiment_, 2, 0));
  add(example_trial(experiment_, 2, 1));
  Experiment row = store_->experiment(experiment_).value().value();
  row.state = "queued";
  EXPECT_EQ(open_again(*store_, row), 2U);
  EXPECT_EQ(store_->experiment(experiment_).value(), row);
  const auto progress = store_->progress(experiment_).value();
  EXPECT_TRUE(progress[0].done);
  EXPECT_FALSE(progress[1].done);
  EXPECT_FALSE(progress[2].done);
  EXPECT_EQ(progress[2].attempts, 2U);
  EXPECT_TRUE(store_->verify().value().empty());
}

// Their number of repeats is the plan's.
TEST_F(StoreTest, ADisturbedTrialThatStandsIsNotOpenedAgain) {
  Trial first = example_trial(experiment_, 0, 0);
  first.status = TrialStatus::disturbed;
  first.last = false;
  add(first);
  Trial second = first;
  second.attempt = 1;
  second.last = true;
  add(second);
  const Experiment row = store_->experiment(experiment_).value().value();
  EXPECT_EQ(open_again(*store_, row), 0U);
  const auto progress = store_->progress(experiment_).value();
  ASSERT_EQ(progress.size(), 1U);
  EXPECT_TRUE(progress[0].done);
  EXPECT_EQ(progress[0].disturbed, 2U);
  EXPECT_EQ(progress[0].status, TrialStatus::disturbed);
}

}  // namespace
}  // namespace stab::store
