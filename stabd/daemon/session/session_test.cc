// SPDX-License-Identifier: MIT
// What a session does, step by step.
#include "stabd/daemon/session/session.h"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <thread>

#include "plan/reading/key_list.h"
#include "stabd/daemon/session/testing.h"

namespace stab::daemon {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Session, GoesOnOnTheCpusOnWhichItBegan) {
  Around around(two_levels);
  around.session_->start();
  EXPECT_EQ(around.earlier_cpus_, machine::CpuSet{});
  around.answer_until(Kind::run);
  around.begin();
  around.session_->start();
  EXPECT_EQ(around.earlier_cpus_, machine::CpuSet{1});
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

TEST(Session, AWorkerThatNamesNoCpusCostsItsExperiment) {
  for (const char* cpus : {"", "x", "4294967295"}) {
    Around around(two_levels);
    around.session_->start();
    around.session_->worker_said(protocol::encode(SetupReply{
        .trial_cpus = cpus, .machine_key = "k", .machine_host = "h", .machine_facts = "{}"}));
    EXPECT_EQ(around.session_->state(), State::failed) << cpus;
    EXPECT_TRUE(around.stopping_);
  }
}

// All but the last of 5,000 trials are stored.
class ResumedSession : public ::testing::Test {
 protected:
  ResumedSession()
      : around_(
            "[experiment]\nname = \"many\"\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\n"
            "repetitions = 5000\n") {
    std::vector<store::Trial> rows;
    for (const plan::Trial& trial : plan::expand(around_.plan_).trials)
      rows.push_back({.experiment = around_.id_,
                      .position = trial.position,
                      .last = true,
                      .benchmark = "b",
                      .seed = trial.seed,
                      .status = TrialStatus::ok,
                      .wall_ns = 1000});
    rows.pop_back();
    EXPECT_TRUE(around_.store_->add_trials(rows));
    around_.begin();
  }

  Around around_;
};

TEST_F(ResumedSession, ReadsItsTrialsInPiecesAndGoesOnBehindThem) {
  Session& session = *around_.session_;
  session.start();
  EXPECT_TRUE(around_.again_);
  EXPECT_FALSE(around_.worker_);
  EXPECT_LT(session.counts().ok, 4999U);
  int pieces = 1;
  for (; !around_.worker_ && around_.again_; ++pieces) around_.run_again();
  EXPECT_GT(pieces, 2);
  EXPECT_EQ(session.counts().ok, 4999U);
  EXPECT_GE(session.experiment().duration_ns, 4'999'000);
  around_.answer_until(Kind::run);
  around_.answer();
  EXPECT_EQ(session.state(), State::analysing);
}

TEST_F(ResumedSession, IsCancelledWhileItReadsThem) {
  around_.session_->start();
  around_.session_->cancel();
  EXPECT_EQ(around_.session_->state(), State::cancelled);
  EXPECT_TRUE(around_.session_->finished());
  around_.run_again();
  EXPECT_EQ(around_.session_->state(), State::cancelled);
  EXPECT_FALSE(around_.worker_);
}

TEST_F(ResumedSession, BeginsToReadThemAnewWhenItIsPausedMeanwhile) {
  around_.session_->start();
  EXPECT_TRUE(around_.session_->hold(1000));
  EXPECT_TRUE(around_.session_->finished());
  around_.run_again();
  EXPECT_FALSE(around_.worker_);
  around_.begin();
  around_.session_->start();
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
  EXPECT_EQ(around_.rows(), 5000U);
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
  EXPECT_THAT(around.row().reason, HasSubstr("3 times without finishing a build or a trial"));
}

TEST(Session, TheRuleIsAskedBeforeTheBlockAndEndsTheExperiment) {
  Around around(with_rule);
  around.session_->start();
  around.answer_until_read();
  EXPECT_EQ(around.reading_, Reading::look);
  EXPECT_EQ(around.session_->counts().ok, 10U);
  EXPECT_FALSE(around.asked_);
  around.answer_reading(LookReply{.stop = true, .words = "all is decided"});
  EXPECT_EQ(around.session_->state(), State::analysing);
  around.settle();
  EXPECT_EQ(around.row().state, "done");
  EXPECT_EQ(around.row().reason, "stopped after 5 of 7 blocks: all is decided");
}

// An earlier daemon drove it for most of its time.
TEST(Session, TheTimeOfThePlanGoesOnWhereTheLastDaemonWas) {
  Around around(with_time);
  store::Experiment row = around.row();
  row.duration_ns = std::chrono::nanoseconds(std::chrono::minutes(11)).count();
  ASSERT_TRUE(around.store_->update_experiment(row));
  around.begin();
  around.session_->start();
  while (around.session_->state() != State::analysing) around.answer();
  EXPECT_EQ(around.session_->counts().ok, 12U) << "a warm-up and the fewest blocks";
  around.settle();
  EXPECT_EQ(around.row().state, "done");
  EXPECT_EQ(around.row().reason, "the time of 10 min 0 s was over after 5 of 9 blocks");
}

TEST(Session, WithinItsTimeAPlanRunsAllBlocks) {
  Around around(with_time);
  around.session_->start();
  while (around.session_->state() != State::analysing) around.answer();
  EXPECT_EQ(around.session_->counts().ok, 20U);
  around.settle();
  EXPECT_EQ(around.row().reason, "");
}

TEST(Session, APauseIsNoPartOfItsTime) {
  Around around(with_time);
  around.session_->start();
  around.answer_until(Kind::run);
  ASSERT_TRUE(around.session_->hold(7));
  around.end_worker();
  const auto held = around.row().duration_ns.value_or(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  around.begin();
  around.session_->start();
  EXPECT_LT(around.row().duration_ns.value_or(0) - held, 20'000'000);
}

TEST(Session, AnAnswerToAQuestionOfAnotherStateIsOfNoUse) {
  Around around(with_rule);
  around.session_->start();
  around.answer_until_read();
  const auto late = around.done_;
  ASSERT_TRUE(around.session_->hold(7));
  late(protocol::encode(LookReply{.stop = true, .words = "too late"}));
  EXPECT_EQ(around.session_->state(), State::paused);
  around.end_worker();
  EXPECT_TRUE(around.session_->finished());
  EXPECT_EQ(around.row().held_by, 7U);
}

TEST(Session, ReadersGetTheirTimeWhereABlockBegins) {
  Around around(two_levels);
  around.readers_wait_ = true;
  around.session_->start();
  for (int i = 0; !around.go_on_ && i < 20; ++i) around.answer();
  ASSERT_TRUE(around.go_on_);
  EXPECT_FALSE(around.asked_);
  EXPECT_EQ(around.session_->counts().ok, 4U);  // the warm-up block
  around.readers_wait_ = false;
  around.let_go_on();
  EXPECT_EQ(around.asked_, Kind::run);
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

std::string with_machine(const std::string& lines) {
  return std::string(two_levels) + "[machine]\n" + lines;
}

constexpr const char* doctors = "doctor: poor for measurements: host (shared), smt (on)";

std::vector<std::string> quiet_events(Around& around) {
  std::vector<std::string> texts;
  for (const store::Event& event : around.store_->events(around.id_).value())
    for (const std::string_view kind : {"doctor", "quieted", "loud"})
      if (event.kind == kind) texts.push_back(event.kind + ": " + event.text);
  return texts;
}

TEST(Session, MakesTheMachineQuietBetweenTheBuildsAndTheTrials) {
  Around around(with_machine("quiesce = 'strict'\nknobs = ['swappiness', 'ksm']\n"));
  around.session_->start();
  for (int build = 0; build < 3; ++build) {
    EXPECT_FALSE(around.quiet_);
    around.answer();
  }
  EXPECT_TRUE(around.quiet_);
  EXPECT_EQ(around.session_->state(), State::running);
  EXPECT_EQ(around.asked_, Kind::run);
  EXPECT_THAT(quiet_events(around), ElementsAre(doctors, "quieted: ksm, swappiness"));
  for (int trial = 0; trial < 12; ++trial) {
    EXPECT_TRUE(around.quiet_);
    around.answer();
  }
  EXPECT_EQ(around.session_->state(), State::analysing);
  EXPECT_FALSE(around.quiet_) << "the numbers need no quiet machine";
}

TEST(Session, WithoutQuiesceNothingOfTheMachineIsTouched) {
  Around around(two_levels);
  around.session_->start();
  around.answer_until(Kind::run);
  EXPECT_FALSE(around.quiet_);
  EXPECT_THAT(quiet_events(around), ElementsAre(doctors));
}

TEST(Session, StrictMeasuresNothingWhereAKnobRefuses) {
  Around around(with_machine("quiesce = 'strict'\nknobs = ['swappiness', 'ksm']\n"));
  around.knobs_refuse_ = true;
  around.session_->start();
  for (int build = 0; build < 3; ++build) around.answer();
  EXPECT_EQ(around.session_->state(), State::failed);
  EXPECT_FALSE(around.quiet_);
  EXPECT_EQ(around.rows(), 0U);
  EXPECT_THAT(around.row().reason,
              AllOf(HasSubstr("swappiness: it does not take 0"), HasSubstr("machine.knobs")));
}

TEST(Session, BestEffortGoesOnAndNamesWhatRefuses) {
  Around around(with_machine("quiesce = 'best-effort'\nknobs = ['swappiness', 'ksm']\n"));
  around.knobs_refuse_ = true;
  around.session_->start();
  around.answer_until(Kind::run);
  EXPECT_THAT(quiet_events(around),
              ElementsAre(doctors, "quieted: ksm", "loud: swappiness: it does not take 0"));
  around.may_quiesce_ = false;
  around.end_worker();
  around.answer_until(Kind::run);
  EXPECT_THAT(quiet_events(around), Contains("loud: the machine is somebody else's"));
}

TEST(Session, WhatSomebodyElseChangesIsSaidWhereABlockBegins) {
  Around around(with_machine("quiesce = 'strict'\n"));
  around.session_->start();
  around.answer_until(Kind::run);
  around.changed_meanwhile_.push_back({.knob = "ksm",
                                       .file = "/proc/knob",
                                       .what = machine::Outcome::What::foreign,
                                       .found = {},
                                       .value = "1",
                                       .reason = "somebody else has set it to 1"});
  for (int i = 0; i < 20 && around.session_->state() == State::running; ++i) around.answer();
  const auto events = quiet_events(around);
  // The warm-up is over.
  EXPECT_THAT(events, Contains("loud: ksm: somebody else has set it to 1; seen before block 1"));
  EXPECT_EQ(std::ranges::count_if(events, [](const auto& each) { return each.contains("ksm: "); }),
            1);
}

TEST(Session, WhoeverStopsTheTrialsTheMachineIsPutBack) {
  const std::array<void (*)(Around&), 6> stops{
      [](Around& around) { around.session_->cancel(); },
      [](Around& around) { ASSERT_TRUE(around.session_->hold(1)); },
      [](Around& around) { around.end_worker(); },
      [](Around& around) { around.session_->worker_silent("is stuck"); },
      [](Around& around) { around.session_->rest(); },
      [](Around& around) {
        around.refuse_writing(true);
        around.answer();
      }};
  for (std::size_t i = 0; i < stops.size(); ++i) {
    SCOPED_TRACE(i);
    Around around(with_machine("quiesce = 'strict'\n"));
    around.session_->start();
    around.answer_until(Kind::run);
    ASSERT_TRUE(around.quiet_);
    stops[i](around);
    EXPECT_FALSE(around.quiet_);
  }
}

// A plan is read without the table of the machine.
TEST(Knobs, OfPlansAreThoseOfTheMachine) {
  std::vector<std::string_view> names;
  for (const machine::Knob& knob : machine::knobs()) names.push_back(knob.name);
  EXPECT_THAT(plan::words::knobs, ElementsAreArray(names));
}

}  // namespace
}  // namespace stab::daemon
