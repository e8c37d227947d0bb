// SPDX-License-Identifier: MIT
// What a session does whatever happens: random walks, with its invariants looked at after each step.
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <map>

#include "base/random.h"
#include "results/exclusion.h"
#include "stabd/daemon/session/testing.h"

namespace stab::daemon {
namespace {

using ::testing::IsEmpty;

// One of the things that may happen now.
void anything(Around& around, Random& random) {
  const auto one_in = [&](std::uint64_t n) { return random.below(n) == 0; };
  Session& session = *around.session_;
  if (one_in(12)) around.refuse_writing(!around.refused_);
  if (one_in(30)) around.readers_wait_ = !around.readers_wait_;
  if (one_in(30)) around.workers_start_ = !around.workers_start_;
  if (one_in(30)) around.may_quiesce_ = !around.may_quiesce_;
  if (one_in(30)) around.knobs_refuse_ = !around.knobs_refuse_;
  around.switches_ = one_in(3) ? 1 : 0;
  around.heap_can_be_random_ = !one_in(10);
  around.turn_is_over_ = one_in(10);
  if (one_in(100)) session.give_way();
  if (one_in(60)) session.cancel();
  if (one_in(40)) static_cast<void>(session.hold(static_cast<std::uint32_t>(random.below(3))));
  if (one_in(40)) session.continue_work();
  if (one_in(40)) session.retry_storage();
  if (around.worker_ && one_in(25)) return around.end_worker();
  if (around.asked_ && !around.stopping_) {
    if (one_in(40)) {  // the daemon kills it then
      session.worker_silent("has not answered for 1 s");
      return;
    }
    if (one_in(25)) {
      const bool builds = around.asked_ == Kind::build;
      session.worker_said(one_in(2) ? "{}"
                          : builds  ? protocol::encode(RunReply{})
                                    : protocol::encode(BuildReply{.key = "x"}));
      return;
    }
    constexpr std::array bad{TrialStatus::wrong_exit, TrialStatus::timeout,
                             TrialStatus::not_started};
    return around.answer(one_in(3) ? bad[random.below(3)] : TrialStatus::ok, !one_in(4));
  }
  if (around.looking_ && one_in(2)) return around.answer_look("CPU 1 is busy", {"load"});
  if (around.done_ && one_in(3)) {
    switch (random.below(4)) {
      case 0:
        return std::exchange(around.done_, nullptr)(fail("the reader was killed by signal 9"));
      case 1:
        return std::exchange(around.done_, nullptr)("nonsense");
      case 2:
        return around.reading_ == Reading::look
                   ? around.answer_reading(LookReply{.stop = true, .words = "enough"})
                   : around.answer_reading(FindingsReply{.error = "busy", .temporary = true});
      default:
        return around.reading_ == Reading::look
                   ? around.answer_reading(LookReply{.error = "busy", .temporary = true})
                   : around.answer_reading(FindingsReply{});
    }
  }
  around.step_well();
}

void expect_sound(Around& around) {
  Session& session = *around.session_;
  const State state = session.state();
  const bool works = needs_worker(state);
  // A worker that is of no use any more is being ended, and nothing waits for it for ever.
  if (around.worker_ && !around.stopping_) EXPECT_TRUE(works) << to_string(state);
  if (state == State::paused && !session.experiment().held_by)
    EXPECT_TRUE(around.retry_ || around.worker_) << "it would wait for ever";
  // E3
  if (session.finished()) EXPECT_FALSE(around.worker_ || around.looking_);
  if (around.worker_) EXPECT_FALSE(is_final(*state_from(session.shown().state)));
  if (around.worker_ && is_final(state)) EXPECT_EQ(session.shown().ended_ns, 0);
  if (state != State::quiescing && state != State::running) EXPECT_FALSE(around.quiet_);  // E5
  // Something is under way, or somebody must come.
  const bool waits = around.worker_ || around.done_ || around.go_on_ || around.looking_ ||
                     around.again_ || around.retry_;
  EXPECT_TRUE(waits || session.finished() || state == State::queued) << to_string(state);
}

void expect_sound_end(Around& around) {
  const store::Experiment row = around.row();
  EXPECT_TRUE(is_final(*state_from(row.state))) << row.state;
  EXPECT_NE(row.ended_ns, 0);
  EXPECT_THAT(around.store_->verify(around.id_).value(), IsEmpty());
  std::map<std::uint32_t, int> standing;
  std::set<std::pair<std::uint32_t, std::uint32_t>> attempts;
  std::map<std::uint32_t, std::uint32_t> disturbed;
  std::uint32_t last = 0;
  for (const store::Trial& trial : store::trials_of(*around.store_, around.id_)) {
    EXPECT_TRUE(attempts.emplace(trial.position, trial.attempt).second);
    standing[trial.position] += trial.last ? 1 : 0;
    EXPECT_GE(trial.position, last);
    last = trial.position;
    const bool caught = exclusion::rule_of(trial).has_value();
    EXPECT_EQ(trial.status == TrialStatus::disturbed, caught);
    EXPECT_FALSE(caught && trial.warmup);
    disturbed[trial.position] += caught ? 1U : 0U;
  }
  for (const auto& [position, count] : disturbed)
    EXPECT_LE(count, around.plan_.exclude_repeats + 1) << position;
  // All positions up to the last have one attempt that stands; where it ended early, the last one
  // may lack it, and so may those of its block that were disturbed, or all if it was abandoned.
  const plan::Expansion expansion = plan::expand(around.plan_);
  const auto is_in_last_block = [&](std::uint32_t position) {
    const plan::Trial trial = expansion.trials[position];
    const plan::Trial end = expansion.trials[last];
    return trial.block == end.block && trial.warmup == end.warmup &&
           (position == last || !around.plan_.exclude.empty() ||
            around.session_->abandoned_block());
  };
  for (const auto& [position, count] : standing)
    EXPECT_TRUE(count == 1 || (count == 0 && is_in_last_block(position) && row.state != "done"))
        << position;
  if (!standing.empty()) EXPECT_EQ(standing.size(), last + 1U);
  if (row.state == "done" && !row.stopped_by) EXPECT_EQ(standing.size(), row.trials);
}

std::string plan_of(std::uint64_t seed) {
  constexpr std::array machines{"", "[machine]\nquiesce = 'best-effort'\n",
                                "[machine]\nquiesce = 'strict'\n",
                                "[machine]\nwait_for_quiet = '1h'\n"};
  constexpr std::array plans{two_levels, with_rule, with_exclusion, with_layer};
  return std::string(plans[seed % 4]) + machines[seed / 4 % 4];
}

// Also a daemon that is killed and started anew, at any step.
TEST(SessionWalk, WhateverHappensItEndsWithEachTrialOnce) {
  std::map<std::string, std::uint64_t> ends;
#if __has_feature(address_sanitizer)
  constexpr std::uint64_t usual = 120;
#else
  constexpr std::uint64_t usual = 300;
#endif
  const std::uint64_t walks = std::getenv("STAB_CAMPAIGN") != nullptr ? 5000 : usual;
  for (std::uint64_t seed = 0; seed < walks; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Around around(plan_of(seed));
    around.session_->start();
    for (int step = 0; step < 150; ++step) {
      anything(around, random);
      expect_sound(around);
      if (around.session_->finished() && is_final(around.session_->state())) break;
      if (around.session_->finished() || random.below(50) == 0) {
        around.refuse_writing(false);  // a daemon does not start where it cannot write
        around.begin();
        around.session_->start();
      }
      if (::testing::Test::HasFailure()) return;
    }
    around.refuse_writing(false);
    around.readers_wait_ = false;
    around.turn_is_over_ = false;
    around.workers_start_ = true;
    for (int round = 0; round < 3 && !is_final(around.session_->state()); ++round) {
      around.settle();
      if (!around.session_->finished() || is_final(around.session_->state())) continue;
      around.begin();
      around.session_->start();
    }
    around.settle();
    EXPECT_TRUE(around.session_->finished());
    expect_sound_end(around);
    if (::testing::Test::HasFailure()) return;
    ++ends[around.row().state];
  }
  // The walks come to every end, or they show little.
  EXPECT_GT(ends["done"], usual / 15);
  EXPECT_GT(ends["failed"], usual / 60);
  EXPECT_GT(ends["cancelled"], usual / 15);
}

}  // namespace
}  // namespace stab::daemon
