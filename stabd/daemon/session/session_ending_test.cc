// SPDX-License-Identifier: MIT
// What ends a session before its last block, and when readers are asked for it.
#include <gmock/gmock.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <type_traits>

#include "stabd/daemon/session/testing.h"

namespace stab::daemon {
namespace {

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
  EXPECT_EQ(around.row().stopped_by, store::StopCause::rule);
}

// The trials go on, so the words say which blocks they are about.
TEST(Session, TheProgressSaysAfterHowManyBlocksTheRuleLooked) {
  Around around(with_rule);
  around.session_->start();
  around.answer_until_read();
  around.answer_reading(LookReply{.stop = false, .words = "not yet"});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(around.session_->progress().look, "last look after 5 blocks: not yet");
    around.answer();
  }
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

TEST(Session, ReadersThatAreDueGetTheirTimeBetweenAnyTwoTrials) {
  Around around(two_levels);
  around.session_->start();
  while (around.asked_ != Kind::run) around.answer();
  around.readers_wait_ = around.readers_are_due_ = true;
  around.answer();
  ASSERT_TRUE(around.go_on_);
  EXPECT_FALSE(around.asked_);
  EXPECT_EQ(around.session_->counts().ok, 1U);
  around.readers_wait_ = around.readers_are_due_ = false;
  around.let_go_on();
  EXPECT_EQ(around.asked_, Kind::run);
}

// A worker may be in the hands of a trial: what an archive could not bring in a worker cannot either.
TEST(Session, WhatAWorkerSaysIsCheckedLikeAStrangersArchive) {
  const auto forge = [](auto change) {
    Around around(two_levels);
    around.session_->start();
    while (around.asked_ != Kind::run) around.answer();
    around.asked_.reset();
    protocol::RunReply reply;
    reply.token = around.token_;
    reply.status = store::TrialStatus::ok;
    reply.wall_ns = 5;
    change(reply);
    around.session_->worker_said(protocol::encode(reply));
    const auto stored = store::trials_of(*around.store_, around.session_->experiment().id).size();
    EXPECT_EQ(around.stopping_, stored == 0);
    return stored;
  };
  EXPECT_EQ(forge([](auto& reply) {
              reply.readings.push_back(counters::counted("a\x1b]0;title\x07", "", 1));
            }),
            0U);
  EXPECT_EQ(forge([](auto& reply) {
              reply.readings.push_back(counters::counted(std::string(200'000, 'a'), "", 1));
            }),
            0U);
  EXPECT_EQ(forge([](auto& reply) { reply.samples = {{.measure = "m\n"}}; }), 0U);
  EXPECT_EQ(forge([](auto& reply) { reply.samples = {{.measure = "m"}, {.measure = "m"}}; }), 0U);
  EXPECT_EQ(forge([](auto& reply) { reply.stderr_tail = std::string(100'000, 'a'); }), 0U);
  EXPECT_EQ(forge([](auto& reply) { reply.stdout_sha256 = std::string(65, 'a'); }), 0U);
  EXPECT_EQ(forge([](auto& reply) { reply.layout.note = std::string(5'000, 'a'); }), 0U);
}

TEST(Session, WhatAWorkerSaysOfAMachineOrABuildIsCheckedToo) {
  // The first answer of the worker, or the second one.
  const auto is_refused = [](const auto& reply) {
    Around around(two_levels);
    around.session_->start();
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(reply)>, BuildReply>) around.answer();
    around.asked_.reset();
    around.say(reply);
    return around.stopping_;
  };
  const auto setup = [&](auto change) {
    SetupReply reply{.trial_cpus = "1"};
    change(reply);
    return is_refused(reply);
  };
  EXPECT_FALSE(setup([](auto&) {}));
  EXPECT_TRUE(setup([](auto& reply) { reply.notes = {"a\x1b[2J"}; }));
  EXPECT_TRUE(setup([](auto& reply) { reply.notes.assign(201, "a"); }));
  EXPECT_TRUE(setup([](auto& reply) { reply.simulator = "a\nb"; }));
  EXPECT_TRUE(setup([](auto& reply) { reply.loud = std::string(5'000, 'a'); }));
  EXPECT_TRUE(setup([](auto& reply) { reply.grade = "best"; }));
  const auto build = [&](auto change) {
    BuildReply reply{.status = store::BuildStatus::built, .key = "k", .binary_sha256 = "b"};
    change(reply);
    return is_refused(reply);
  };
  EXPECT_FALSE(build([](auto& reply) { reply.output = "several\nlines"; }));
  EXPECT_TRUE(build([](auto& reply) { reply.output = std::string(70'000, 'a'); }));
  EXPECT_TRUE(build([](auto& reply) { reply.key = std::string(65, 'a'); }));
  for (std::string BuildReply::* const text :
       {&BuildReply::key, &BuildReply::binary_sha256, &BuildReply::directory, &BuildReply::out,
        &BuildReply::compilers, &BuildReply::in_place, &BuildReply::error, &BuildReply::tidied}) {
    EXPECT_TRUE(build([&](auto& reply) { reply.*text = "a\x1b[2J"; }));
    EXPECT_TRUE(build([&](auto& reply) { reply.*text = "a\nb"; }));
    EXPECT_TRUE(build([&](auto& reply) { reply.*text = std::string(5'000, 'a'); }));
  }
}

TEST(Session, ATrialSaysForHowLongSomethingElseRanBesideIt) {
  Around around(two_levels);
  around.session_->start();
  while (around.asked_ != Kind::run) around.answer();
  around.session_->has_company(true);
  around.session_->has_company(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  around.session_->has_company(false);
  around.answer();
  around.answer();
  const auto trials = store::trials_of(*around.store_, around.session_->experiment().id);
  ASSERT_EQ(trials.size(), 2U);
  const auto is_it = [](const counters::Reading& each) { return each.name == "reports-beside-ns"; };
  const auto found = std::ranges::find_if(trials[0].readings, is_it);
  ASSERT_NE(found, trials[0].readings.end());
  EXPECT_GE(std::get<std::int64_t>(found->value), 2'000'000);
  EXPECT_TRUE(std::ranges::none_of(trials[1].readings, is_it));
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
  EXPECT_EQ(around.row().reason,
            "the experiment's time limit of 10 min 0 s allowed only 5 of 9 blocks");
  EXPECT_EQ(around.row().stopped_by, store::StopCause::time);
}

// The time is up, and one of the 12 trials of the fewest blocks is left, of 20 in all.
TEST(Session, WhatIsLeftEndsWithTheTimeOfThePlan) {
  using std::chrono::steady_clock;
  Around around(with_time);
  store::Experiment row = around.row();
  row.duration_ns = std::chrono::nanoseconds(std::chrono::minutes(11)).count();
  ASSERT_TRUE(around.store_->update_experiment(row));
  around.begin();
  const auto began = steady_clock::now();
  around.session_->start();
  while (around.session_->counts().finished() < 11) {
    if (around.asked_ == Kind::run) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    around.answer();
  }
  const auto left = around.session_->progress().left;
  ASSERT_TRUE(left);
  EXPECT_LE(*left, (steady_clock::now() - began) / 11);
}

TEST(Session, WithinItsTimeAPlanRunsAllBlocks) {
  Around around(with_time);
  around.session_->start();
  while (around.session_->state() != State::analysing) around.answer();
  EXPECT_EQ(around.session_->counts().ok, 20U);
  around.settle();
  EXPECT_EQ(around.row().reason, "");
  EXPECT_EQ(around.row().stopped_by, std::nullopt);
}

TEST(Session, APauseIsNoPartOfItsTime) {
  Around around(with_time);
  around.session_->start();
  around.answer_until(Kind::run);
  ASSERT_TRUE(around.session_->hold(7));
  around.end_worker();
  const auto held = around.row().duration_ns.value_or(0);
  const auto before = std::chrono::steady_clock::now();
  constexpr std::chrono::milliseconds pause(20);
  std::this_thread::sleep_for(pause);
  around.begin();
  around.session_->start();
  const std::chrono::nanoseconds driven(around.row().duration_ns.value_or(0) - held);
  EXPECT_LE(driven, std::chrono::steady_clock::now() - before - pause);
}

TEST(Session, GivesTheMachineAwayBeforeABlockAndGoesOnThere) {
  Around around(two_levels);
  around.turn_is_over_ = true;
  around.session_->start();
  while (!around.stopping_) around.answer();
  EXPECT_EQ(around.session_->counts().ok, 4U) << "the warm-up block is whole";
  EXPECT_EQ(around.session_->state(), State::queued);
  EXPECT_EQ(around.session_->shown().state, "running") << "its worker is alive";
  EXPECT_FALSE(around.session_->finished());
  around.end_worker();
  EXPECT_TRUE(around.session_->finished());
  EXPECT_EQ(around.row().state, "queued");
  EXPECT_THAT(around.row().reason, testing::HasSubstr("it is another user's turn"));
  for (int turns = 1; around.row().state != "done" && turns < 9; ++turns) {
    around.begin();
    around.session_->start();
    around.settle();
    EXPECT_EQ(around.session_->counts().ok, 4U * (turns + 1U));
  }
  EXPECT_EQ(around.row().state, "done");
  for (const store::Trial& trial : store::trials_of(*around.store_, around.id_))
    EXPECT_EQ(trial.attempt, 0U);
}

TEST(Session, ABlockThatIsAbandonedRunsAgainOnceAndIsSplitThen) {
  Around around(two_levels);
  const auto run = [&](unsigned trials) {
    around.session_->start();
    around.answer_until(Kind::run);
    for (unsigned i = 0; i < trials; ++i) around.answer();
  };
  const auto end = [&] {
    ASSERT_TRUE(around.stopping_);
    around.end_worker();
    ASSERT_TRUE(around.session_->finished());
  };
  run(6);  // two of the first measured block
  around.session_->give_way();
  EXPECT_THAT(around.row().reason,
              testing::HasSubstr("Then block 1 starts again from its first trial"));
  end();
  EXPECT_EQ(around.session_->abandoned_block(), BlockId(false, 0));
  around.begin();
  run(0);
  EXPECT_EQ(around.session_->counts().ok, 4U) << "what it had is measured again";
  for (int i = 0; i < 2; ++i) around.answer();
  around.session_->give_way();
  EXPECT_THAT(around.row().reason, testing::Not(testing::HasSubstr("first trial")));
  end();
  // From now on each turn has a trial of this block at least, and what was measured stands.
  around.turn_is_over_ = true;
  around.begin();
  run(1);
  EXPECT_EQ(around.session_->counts().ok, 7U);
  end();
  around.turn_is_over_ = false;
  around.begin();
  around.session_->start();
  around.settle();
  EXPECT_EQ(around.row().state, "done");
  std::map<std::uint32_t, std::uint32_t> attempts;
  for (const store::Trial& trial : store::trials_of(*around.store_, around.id_))
    ++attempts[trial.position];
  EXPECT_EQ(attempts.size(), 12U);
  for (const auto& [position, count] : attempts)
    EXPECT_EQ(count, position == 4 || position == 5 ? 2U : 1U) << position;
}

TEST(Session, ATurnHasATrialHoweverShortItIs) {
  Around around(two_levels);
  around.turn_is_over_ = true;
  std::size_t before = 0;
  for (int turns = 0; around.row().state != "done" && turns < 20; ++turns) {
    if (turns > 0) around.begin();
    around.session_->start();
    around.settle();
    EXPECT_GT(around.rows(), before);
    before = around.rows();
  }
  EXPECT_EQ(around.row().state, "done");
}

}  // namespace
}  // namespace stab::daemon
