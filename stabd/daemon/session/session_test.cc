// SPDX-License-Identifier: MIT
// What a session does, step by step.
#include "stabd/daemon/session/session.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "results/heap_layer.h"
#include "stabd/daemon/session/testing.h"

namespace stab::daemon {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(Session, GoesOnOnTheCpusOnWhichItBegan) {
  Around around(two_levels);
  around.session_->start();
  EXPECT_EQ(around.earlier_cpus_, machine::CpuSet{});
  around.answer_until(Kind::run);
  around.begin();
  around.session_->start();
  EXPECT_EQ(around.earlier_cpus_, machine::CpuSet{1});
  EXPECT_EQ(around.row().trial_cpus, "1");
}

TEST(Session, WhatEventsSayDoesNotDecideOnWhichCpusItGoesOn) {
  Around around(two_levels);
  ASSERT_TRUE(around.store_->add_event(
      {.experiment = around.id_, .kind = "machine", .text = "trials run on CPU 7"}));
  around.session_->start();
  EXPECT_EQ(around.earlier_cpus_, machine::CpuSet{});
}

constexpr const char* with_cost = R"(
[experiment]
name = "cost"
[defaults]
repetitions = 11
warmup = 1
retries = 1
[[benchmark]]
name = "plain"
run = ["true", "${X}"]
[factor.x]
levels = { a = { X = "1" }, b = { X = "2" } }
[analysis]
cost = true
)";

TEST(Session, PlainTrialsStayInTheirBlocksAfterFailuresAndRestarts) {
  Around around(with_cost);
  around.session_->start();
  bool is_said = false;
  for (int answers = 1; around.session_->state() != State::analysing; ++answers) {
    is_said |= around.session_->progress().activity.contains("plain a without random layouts");
    around.answer(answers % 6 == 0 ? TrialStatus::timeout : TrialStatus::ok);
    if (answers % 7 != 0 || around.session_->state() == State::analysing) continue;
    around.begin();  // the daemon was killed
    around.session_->start();
  }
  EXPECT_TRUE(is_said);
  const plan::Expansion expansion = plan::expand(around.plan_);
  std::map<std::uint32_t, int> plain;  // by block
  std::uint32_t ended = 0;
  for (const store::Trial& trial : store::trials_of(*around.store_, around.id_)) {
    const plan::Trial planned = expansion.trials.at(trial.position);
    EXPECT_EQ(trial.block, planned.block);
    EXPECT_EQ(trial.seed, planned.seed);
    if (planned.plain)
      EXPECT_THAT(trial.levels, ElementsAre(Pair("random-layouts", "off")));
    else
      EXPECT_THAT(trial.levels, ElementsAre(Pair("x", _)));
    if (!trial.last) continue;
    EXPECT_EQ(trial.position, ended++);
    if (planned.plain) ++plain[trial.block];
  }
  EXPECT_EQ(ended, plan::count_trials(around.plan_));
  EXPECT_EQ(ended, 2U * 12 + 2) << "the last block is no part of five";
  EXPECT_THAT(plain, ElementsAre(Pair(Lt(5U), 1), Pair(AllOf(Ge(5U), Lt(10U)), 1)));
}

TEST(Session, GoesFromTheQueueToItsEnd) {
  Around around(two_levels);
  Session& session = *around.session_;
  EXPECT_EQ(session.state(), State::queued);
  session.start();
  EXPECT_EQ(session.state(), State::building);
  EXPECT_EQ(around.asked_, Kind::setup);
  around.answer();
  for (int build = 0; build < 2; ++build) {
    EXPECT_EQ(around.asked_, Kind::build);
    EXPECT_EQ(session.state(), State::building);
    around.answer();
  }
  EXPECT_EQ(session.state(), State::running);
  for (int trial = 0; trial < 12; ++trial) {
    EXPECT_EQ(around.asked_, Kind::run);
    EXPECT_EQ(session.counts().ok, trial);
    around.answer();
  }
  // The machine is free before the numbers are looked at.
  EXPECT_EQ(session.state(), State::analysing);
  EXPECT_TRUE(around.stopping_);
  EXPECT_FALSE(around.done_);
  around.end_worker();
  EXPECT_EQ(around.reading_, Reading::finish);
  EXPECT_FALSE(session.finished());
  around.answer_reading(FindingsReply{});
  EXPECT_EQ(session.state(), State::done);
  EXPECT_TRUE(session.finished());
  EXPECT_EQ(around.row().state, "done");
}

TEST(Session, SaysWhichBuildsWereCachedAndWhatTheOthersMayTake) {
  Around around(two_levels);
  Session& session = *around.session_;
  session.start();
  around.answer();
  EXPECT_EQ(session.progress().left, std::nullopt);
  around.answer();
  EXPECT_EQ(session.progress().builds_done, 1U);
  EXPECT_EQ(session.progress().builds_cached, 0U);
  EXPECT_EQ(session.progress().left, std::chrono::milliseconds(7));
  // Another worker finds what the first one has built, whatever that took then.
  around.end_worker();
  around.answer();
  around.answer();
  EXPECT_EQ(session.progress().builds_done, 1U);
  EXPECT_EQ(session.progress().builds_cached, 1U);
  EXPECT_EQ(session.progress().left, std::nullopt);
}

TEST(Session, AFailedTrialIsRepeatedAtItsPlace) {
  Around around(two_levels);
  around.session_->start();
  around.answer_until(Kind::run);
  around.answer(TrialStatus::wrong_exit);
  around.answer(TrialStatus::ok);
  std::vector<store::Trial> stored = store::trials_of(*around.store_, around.id_);
  ASSERT_THAT(stored, SizeIs(2));
  EXPECT_EQ(stored[0].position, stored[1].position);
  EXPECT_FALSE(stored[0].last);
  EXPECT_TRUE(stored[1].last);
}

TEST(Session, ATrialThatARuleCatchesIsStoredAsDisturbedAndRunAgainInItsBlock) {
  Around around(with_exclusion);
  around.session_->start();
  around.answer();  // to the setup
  around.switches_ = 1;
  for (int i = 0; i < 3; ++i) around.answer();  // two warm-ups are not judged
  around.switches_ = 0;
  for (int i = 0; i < 2; ++i) around.answer();
  const auto trials = store::trials_of(*around.store_, around.id_);
  ASSERT_EQ(trials.size(), 5U);
  EXPECT_EQ(trials[1].status, TrialStatus::ok);
  EXPECT_EQ(trials[2].status, TrialStatus::disturbed);
  EXPECT_FALSE(trials[2].last);
  EXPECT_EQ(trials[3].position, 2U);
  EXPECT_EQ(trials[3].attempt, 1U);
  EXPECT_TRUE(trials[3].last);
  EXPECT_EQ(trials[4].position, 3U);
  EXPECT_EQ(around.session_->counts().ok, 4U);
}

TEST(Session, AWorkerDoesNotSayThatATrialWasDisturbed) {
  Around around(with_exclusion);
  around.session_->start();
  around.answer();
  around.answer(TrialStatus::disturbed);
  EXPECT_TRUE(around.stopping_);
  EXPECT_EQ(around.rows(), 0U);
}

// CPUs that the machine does not have, that the plan does not ask for, or none.
TEST(Session, AWorkerThatNamesNoCpusOfItsOwnCostsItsExperiment) {
  const auto state_with = [](const std::string& plan, const std::string& cpus) {
    Around around(plan);
    around.session_->start();
    around.asked_.reset();
    around.say(SetupReply{.trial_cpus = cpus});
    const bool failed = around.session_->state() == State::failed;
    EXPECT_EQ(around.stopping_, failed) << cpus;
    EXPECT_EQ(around.stays_on_.empty(), failed) << "the daemon must not move for it: " << cpus;
    return around.session_->state();
  };
  const std::string any = two_levels;
  for (const char* cpus : {"", "x", "4294967295", "4", "1-2", "0-3"})
    EXPECT_EQ(state_with(any, cpus), State::failed) << cpus;
  EXPECT_EQ(state_with(any, "3"), State::building);
  const std::string named = any + "[machine]\ncpu = [1, 2]\n";
  for (const char* cpus : {"1", "2-3", "0-2"})
    EXPECT_EQ(state_with(named, cpus), State::failed) << cpus;
  EXPECT_EQ(state_with(named, "1-2"), State::building);
}

TEST(Session, TheDaemonSeesTheMachineItselfAndStaysOffTheTrialsCpus) {
  Around around(two_levels);
  around.session_->start();
  around.asked_.reset();
  around.say(SetupReply{.trial_cpus = "1", .machine_facts = R"({"host":"another"})"});
  const auto machine = around.store_->machine(around.row().machine).value();
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->host, "h");
  EXPECT_EQ(machine->facts, around.facts()->facts_json);
  EXPECT_EQ(machine->key, around.facts()->key);
  EXPECT_EQ(around.stays_on_, (machine::CpuSet{0, 2, 3}));
}

// Around::sent() compares the request's length with the longest line that a worker reads.
TEST(Session, ManyBuildsWithManySourcesAreRequestedInShortLines) {
  std::string plan =
      "[experiment]\nname = 'many'\n[[benchmark]]\nname = 'b'\nrepetitions = 1\n"
      "build = 'cc ${FLAGS} -o ${OUT} b.c'\nrun = ['${OUT}']\nsources = [";
  for (int i = 0; i < 1000; ++i) plan += fmt::format("'{:0>130}', ", i);
  plan += "]\n[factor.flags]\nlevels = { O = { FLAGS = '-O' }";
  for (int i = 0; i < 64; ++i) plan += fmt::format(", D{0} = {{ FLAGS = '-D{0}' }}", i);
  Around around(plan + " }\n");
  around.session_->start();
  around.answer();
  EXPECT_EQ(around.asked_, Kind::build);
  EXPECT_EQ(around.session_->progress().builds, 65U);
}

// The stored decisions about the heap layer.
std::vector<report::HeapLayer> heap_of(Around& around) {
  return results::heap_layers(around.row().heap_layer).value();
}

bool has_layer(const protocol::RunRequest& run) {
  return run.options.contains("heap");
}

// E13
TEST(Session, TestRunsDecideAboutTheHeapLayerBeforeTheFirstTrialAndOnlyOnce) {
  Around around(with_layer);
  around.session_->start();
  around.answer_until(Kind::run);
  for (const bool expected : {true, true, false, false, false, false, true, true}) {
    EXPECT_EQ(around.session_->state(), State::building);
    EXPECT_THAT(around.session_->progress().activity, HasSubstr("test runs of built"));
    EXPECT_EQ(has_layer(around.run_), expected);
    EXPECT_EQ(around.asked_, Kind::run);
    EXPECT_THAT(heap_of(around), SizeIs(0));
    around.answer();
  }
  EXPECT_EQ(around.session_->state(), State::running);
  ASSERT_THAT(heap_of(around), SizeIs(1));
  EXPECT_EQ(heap_of(around)[0].benchmark, "built");
  EXPECT_TRUE(heap_of(around)[0].drawn);
  ASSERT_TRUE(heap_of(around)[0].cost);
  EXPECT_EQ(heap_of(around)[0].cost->pairs, 4U);
  const auto expect_layer = [&] {
    EXPECT_EQ(around.run_.options.at("allocator"), "layer");
    EXPECT_EQ(around.run_.by_default, (std::vector<std::string>{"heap", "allocator"}));
    EXPECT_EQ(around.run_.needs, plan::Needs::nothing);
  };
  expect_layer();
  around.answer();
  EXPECT_EQ(around.rows(), 1U);
  // Another daemon goes on.
  around.begin();
  around.session_->start();
  around.answer_until(Kind::run);
  EXPECT_EQ(around.session_->state(), State::running);
  expect_layer();
  around.settle();
  EXPECT_EQ(around.row().state, "done");
  EXPECT_EQ(around.rows(), 40U);
  EXPECT_THAT(heap_of(around), SizeIs(1));
  std::vector<std::string> logged;
  for (const store::Event& event : around.store_->events(around.id_).value())
    if (event.kind == "heap") logged.push_back(event.text);
  ASSERT_THAT(logged, SizeIs(1));
  EXPECT_THAT(logged[0], HasSubstr("built: heap blocks are random (costs "));
}

// E13
TEST(Session, WhatGoesWrongInATestRunCostsOnlyTheHeapLayer) {
  const auto why_after = [](const std::function<void(Around&)>& happens) {
    Around around(with_layer);
    around.session_->start();
    around.answer_until(Kind::run);
    around.answer();
    EXPECT_TRUE(has_layer(around.run_));
    happens(around);
    if (around.session_->finished()) {
      around.begin();
      around.session_->start();
    }
    around.answer_until(Kind::run);
    EXPECT_EQ(around.session_->state(), State::running);
    EXPECT_FALSE(has_layer(around.run_));
    const auto heap = heap_of(around);
    if (heap.size() != 1) return std::string("no decision");
    EXPECT_FALSE(heap[0].drawn);
    around.settle();
    EXPECT_EQ(around.row().state, "done");
    EXPECT_EQ(around.session_->counts().ok, 40U);
    return heap[0].why_not;
  };
  EXPECT_THAT(why_after([](Around& around) { around.answer(TrialStatus::signalled); }),
              ContainsRegex("^built [ab] does not run with the heap layer: it is broken$"));
  EXPECT_THAT(why_after([](Around& around) {
                around.heap_can_be_random_ = false;
                around.answer();
              }),
              ContainsRegex("^built [ab] does not load the heap layer: "));
  EXPECT_EQ(why_after([](Around& around) { around.end_worker(); }),
            "the worker was killed by signal 9 during a test run");
  EXPECT_EQ(why_after([](Around& around) {
              around.session_->give_way();
              EXPECT_EQ(around.session_->state(), State::queued);
              around.end_worker();
            }),
            "another user's turn began during the test runs");
}

// E13
TEST(Session, ADecisionThatCannotBeStoredIsStoredBeforeTheFirstTrial) {
  Around around(with_layer);
  around.session_->start();
  around.answer_until(Kind::run);
  for (int run = 0; run < 7; ++run) around.answer();
  around.refuse_writing(true);
  around.answer();
  EXPECT_EQ(around.session_->state(), State::paused);
  EXPECT_THAT(heap_of(around), SizeIs(0));
  around.end_worker();
  around.refuse_writing(false);
  around.run_retry();
  EXPECT_THAT(heap_of(around), SizeIs(1));
  around.answer_until(Kind::run);
  EXPECT_EQ(around.session_->state(), State::running);
  EXPECT_TRUE(has_layer(around.run_));
  around.settle();
  EXPECT_EQ(around.row().state, "done");
  EXPECT_THAT(heap_of(around), SizeIs(1));
}

// E13
TEST(Session, TestRunsThatAreBrokenOffByAPauseOrByANewDaemonBeginAnew) {
  for (const bool is_paused : {true, false}) {
    Around around(with_layer);
    around.session_->start();
    around.answer_until(Kind::run);
    for (int run = 0; run < 3; ++run) around.answer();
    if (is_paused) {
      ASSERT_TRUE(around.session_->hold(0));
      around.end_worker();
      EXPECT_TRUE(around.session_->finished());
    } else {
      around.session_->rest();
    }
    EXPECT_THAT(heap_of(around), SizeIs(0));
    around.begin();
    around.session_->start();
    around.answer_until(Kind::run);
    EXPECT_TRUE(around.is_test_run_);
    EXPECT_TRUE(has_layer(around.run_)) << "the first pair begins with the layer";
    around.settle();
    EXPECT_EQ(around.row().state, "done");
    ASSERT_THAT(heap_of(around), SizeIs(1));
    EXPECT_TRUE(heap_of(around)[0].drawn);
  }
}

// E13
TEST(Session, AWorkerThatIsSilentInATestRunIsNotTestedAgain) {
  Around around(with_layer);
  around.session_->start();
  around.answer_until(Kind::run);
  around.session_->worker_silent("did not answer within 1 s");
  EXPECT_EQ(around.session_->state(), State::failed);
  around.end_worker();
  ASSERT_THAT(heap_of(around), SizeIs(1));
  EXPECT_EQ(heap_of(around)[0].why_not, "the worker did not answer within 1 s during a test run");
}

TEST(Session, DecisionsThatNobodyCanReadEndTheExperiment) {
  Around around(with_layer);
  store::Experiment row = around.row();
  row.heap_layer = "[{}]";
  ASSERT_TRUE(around.store_->update_experiment(row));
  around.begin();
  around.session_->start();
  around.settle();
  EXPECT_EQ(around.row().state, "failed");
  EXPECT_THAT(around.row().reason, HasSubstr("'heap_layer'"));
  EXPECT_EQ(around.rows(), 0U);
}

TEST(Session, WithoutRoomForTrialsNothingIsTested) {
  Around around(with_layer);
  around.stores_too_much_ = true;
  around.session_->start();
  while (around.asked_ && around.asked_ != Kind::run) around.answer();
  EXPECT_EQ(around.session_->state(), State::failed);
  EXPECT_NE(around.asked_, Kind::run);
}

TEST(Session, TestRunsTakeAtMostAFifthOfThePlansTime) {
  // Each test run takes longer than that.
  Around around(std::string(with_layer) + "[design]\ntime = '1ns'\n");
  around.session_->start();
  around.answer_until(Kind::run);
  around.answer();
  EXPECT_EQ(around.session_->state(), State::running);
  ASSERT_THAT(heap_of(around), SizeIs(1));
  EXPECT_EQ(heap_of(around)[0].why_not, "test runs would take too much of the plan's time");
}

TEST(Session, ARowThatCannotBeStoredIsKeptAndStoredFirst) {
  Around around(two_levels);
  around.session_->start();
  around.answer_until(Kind::run);
  around.refuse_writing(true);
  around.answer();
  EXPECT_EQ(around.session_->state(), State::paused);
  EXPECT_EQ(around.rows(), 0U);
  EXPECT_TRUE(around.stopping_);
  around.end_worker();
  around.run_retry();
  EXPECT_EQ(around.session_->state(), State::paused);
  EXPECT_FALSE(around.worker_);
  around.refuse_writing(false);
  around.run_retry();
  EXPECT_EQ(around.rows(), 1U);
  EXPECT_EQ(around.session_->state(), State::building);
  EXPECT_EQ(around.asked_, Kind::setup);
  around.settle();
  EXPECT_EQ(around.row().state, "done");
  EXPECT_EQ(around.rows(), 12U);
}

TEST(Session, ACancellationThatCannotBeStoredSaysWhatItWaitsFor) {
  Around around(two_levels);
  around.session_->start();
  around.answer_until(Kind::run);
  around.refuse_writing(true);
  around.session_->cancel();
  around.end_worker();
  EXPECT_FALSE(around.session_->finished());
  EXPECT_EQ(around.session_->shown().state, "running");
  EXPECT_THAT(around.session_->shown().reason,
              HasSubstr("cancelled by the user; the completed trials are kept; but that cannot be "
                        "stored yet: cannot store experiment"));
  around.refuse_writing(false);
  around.run_retry();
  EXPECT_TRUE(around.session_->finished());
  EXPECT_EQ(around.row().state, "cancelled");
}

TEST(Session, APauseThatCannotBeStoredSaysSo) {
  Around around(two_levels);
  around.session_->start();
  around.answer_until(Kind::run);
  around.refuse_writing(true);
  const auto held = around.session_->hold(7);
  ASSERT_FALSE(held);
  EXPECT_THAT(
      held.error().message,
      HasSubstr(
          "experiment 1 is being paused, but its new state cannot be stored yet: cannot store "
          "experiment 1"));
  around.end_worker();
  EXPECT_FALSE(around.session_->finished());
  around.refuse_writing(false);
  around.run_retry();
  EXPECT_TRUE(around.session_->finished());
  EXPECT_EQ(around.row().state, "paused");
  EXPECT_EQ(around.row().held_by, 7U);
}

TEST(Session, IsNotShownAsEndedWhileItsWorkerIsThere) {
  Around around(two_levels);
  around.session_->start();
  around.answer_until(Kind::run);
  around.session_->cancel();
  EXPECT_EQ(around.session_->state(), State::cancelled);
  EXPECT_EQ(around.session_->shown().state, "running");
  EXPECT_EQ(around.session_->shown().ended_ns, 0);
  EXPECT_FALSE(around.session_->finished());
  around.end_worker();
  EXPECT_EQ(around.session_->shown().state, "cancelled");
  EXPECT_TRUE(around.session_->finished());
}

TEST(Session, IsShownAsPausedOnceItMayGoOn) {
  Around around(two_levels);
  around.session_->start();
  around.answer_until(Kind::run);
  ASSERT_TRUE(around.session_->hold(7));
  EXPECT_EQ(around.session_->state(), State::paused);
  EXPECT_EQ(around.session_->shown().state, "running");
  around.end_worker();
  EXPECT_EQ(around.session_->shown().state, "paused");
  EXPECT_TRUE(around.session_->finished());
}

TEST(Session, ATrialThatEndsItsWorkerThreeTimesCountsAsFailedAndTheOthersGoOn) {
  Around around(two_levels);
  around.session_->start();
  for (int loss = 0; loss < 3; ++loss) {
    around.answer_until(Kind::run);
    around.end_worker();
  }
  const auto stored = store::trials_of(*around.store_, around.id_);
  ASSERT_THAT(stored, SizeIs(1));
  EXPECT_EQ(stored[0].status, TrialStatus::not_started);
  EXPECT_THAT(stored[0].reason, HasSubstr("3 times in a row"));
}

TEST(Session, WithoutABuildAWorkerThatEndsThreeTimesEndsTheExperiment) {
  Around around(two_levels);
  around.session_->start();
  for (int loss = 0; loss < 3; ++loss) {
    ASSERT_EQ(around.session_->state(), State::building);
    around.end_worker();
  }
  EXPECT_EQ(around.session_->state(), State::failed);
  EXPECT_THAT(around.row().reason, HasSubstr("3 times, and no build or trial finished meanwhile"));
}

TEST(Session, TheTrialsOfAFailedBuildHaveItsErrorAndTheEventHasAllOfItsOutput) {
  Around around(two_levels);
  around.session_->start();
  around.answer_until(Kind::build);
  around.asked_.reset();
  const std::string output = "cc b.c\nb.c:1: error: no\nthe build command ended with exit code 1";
  around.say(BuildReply{.status = store::BuildStatus::failed,
                        .key = "k",
                        .output = output,
                        .error = "b.c:1: error: no"});
  while (around.asked_ || around.again_) around.asked_ ? around.answer() : around.run_again();
  std::size_t failed = 0;
  for (const store::Trial& each : store::trials_of(*around.store_, around.id_)) {
    EXPECT_EQ(each.status == TrialStatus::build_failed, each.benchmark == "built");
    if (each.benchmark != "built") continue;
    EXPECT_EQ(each.reason, "the build failed: b.c:1: error: no");
    ++failed;
  }
  EXPECT_EQ(failed, 6U);
  std::vector<std::string> texts;
  for (const store::Event& event : around.store_->events(around.id_).value())
    if (event.kind == "build") texts.push_back(event.text);
  ASSERT_THAT(texts, SizeIs(1));
  EXPECT_THAT(texts[0], HasSubstr(output));
}

TEST(Session, WhatAWorkerSaysUnaskedEndsIt) {
  for (const std::string& line :
       {std::string("nonsense"), protocol::encode(RunReply{}), std::string("{\"kind\":\"run\"}")}) {
    Around around(two_levels);
    around.session_->start();
    around.session_->worker_said(line);
    EXPECT_TRUE(around.stopping_) << line;
    around.end_worker();
    EXPECT_EQ(around.session_->state(), State::building);
    EXPECT_EQ(around.rows(), 0U);
  }
}

// Also where the program went on as if nothing had been.
TEST(Session, ATrialThatReachedABoundOfTheKernelIsNeverGood) {
  Around around(two_levels);
  around.session_->start();
  around.answer_until(Kind::run);
  around.passed_ = "had 1024 processes and threads, and the kernel refused to start more";
  around.answer();
  around.passed_ = "";
  around.answer();
  const std::vector<store::Trial> trials = store::trials_of(*around.store_, around.id_);
  ASSERT_GE(trials.size(), 2U);
  EXPECT_EQ(trials[0].status, TrialStatus::over_limit);
  EXPECT_THAT(trials[0].reason, HasSubstr("the kernel refused to start more"));
  EXPECT_EQ(trials[1].status, TrialStatus::ok);
}

TEST(Session, AnotherVersionOfTheWorkerIsRefused) {
  Around around(two_levels);
  around.session_->start();
  around.say(SetupReply{.protocol = protocol::version + 1});
  EXPECT_EQ(around.session_->state(), State::failed);
  EXPECT_EQ(around.row().reason, protocol::worker_mismatch());
}

TEST(Session, OfAUserWhoStoresTooMuchFailsBeforeItsNextTrialAndGoesOnByARetry) {
  Around around(two_levels);
  around.session_->start();
  around.answer_until(Kind::run);
  around.stores_too_much_ = true;
  around.answer();
  EXPECT_EQ(around.session_->state(), State::failed);
  EXPECT_THAT(around.row().reason,
              AllOf(HasSubstr("too much is stored"), HasSubstr("'stabctl retry'")));
  EXPECT_EQ(around.rows(), 1);
}

TEST(Session, OfAUserWhoStoresTooMuchRunsNothing) {
  Around around(two_levels);
  around.stores_too_much_ = true;
  around.session_->start();
  while (around.asked_ && around.asked_ != Kind::run) around.answer();
  EXPECT_EQ(around.session_->state(), State::failed);
  EXPECT_EQ(around.rows(), 0);
}

// Imports leave this room (limits.stored_bytes_of_user).
TEST(Session, TheRoomForItsRemainingTrialsFollowsThoseBeforeThem) {
  Around around(two_levels);
  around.session_->start();
  const std::uint64_t all = around.session_->counts().total;
  EXPECT_EQ(around.session_->bytes_to_come(), all * protocol::kept_output);
  around.answer_until(Kind::run);
  around.answer();
  const std::uint64_t done = around.session_->counts().finished();
  ASSERT_EQ(done, 1U);
  const std::uint64_t stored =
      around.store_->bytes_of_experiment(around.id_) - around.row().plan.size();
  EXPECT_EQ(around.session_->bytes_to_come(), (all - done) * stored);
  around.settle();
  EXPECT_EQ(around.session_->state(), State::done);
  EXPECT_EQ(around.session_->bytes_to_come(), 0U);
}

TEST(Session, WithoutAProcessForAWorkerItWaits) {
  Around around(two_levels);
  around.workers_start_ = false;
  around.session_->start();
  EXPECT_EQ(around.session_->state(), State::paused);
  EXPECT_TRUE(around.retry_);
  around.workers_start_ = true;
  around.run_retry();
  EXPECT_EQ(around.asked_, Kind::setup);
}

}  // namespace
}  // namespace stab::daemon
