// SPDX-License-Identifier: MIT
// How a session waits for a quiet machine.
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "plan/measures/names.h"
#include "stabd/daemon/session/testing.h"

namespace stab::daemon {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Truly;

constexpr const char* with_wait = R"(
[experiment]
name = "waits"
[defaults]
repetitions = 3
warmup = 1
[machine]
wait_for_quiet = "1h"
[[benchmark]]
name = "plain"
run = ["true", "${X}"]
[factor.x]
levels = { a = { X = "1" }, b = { X = "2" } }
)";

std::vector<std::string> waits_of(Around& around) {
  std::vector<std::string> texts;
  for (const store::Event& event : around.store_->events(around.id_).value())
    if (event.kind == "wait") texts.push_back(event.text);
  return texts;
}

// By position.
std::vector<std::uint32_t> trials_with_a_wait(Around& around) {
  std::vector<std::uint32_t> found;
  EXPECT_TRUE(around.store_->for_each_trial(around.id_, [&](const store::Trial& trial) {
    for (const counters::Reading& reading : trial.readings)
      if (reading.name == "quiet-wait-ns") found.push_back(trial.position);
    return true;
  }));
  return found;
}

TEST(SessionWait, BeforeEachBlockItWaitsAndSaysHowLong) {
  Around around(with_wait);
  around.session_->start();
  around.answer();
  int looks = 0;
  while (around.asked_ || around.looking_) {
    if (!around.looking_) {
      around.answer();
      continue;
    }
    const bool third_block = ++looks >= 4;
    if (looks == 2) EXPECT_EQ(around.rows(), 2U);
    if (third_block && looks < 7) {
      around.answer_look("CPU 1 is 98 % busy", {"load (no /proc)"});
      EXPECT_THAT(around.session_->progress().activity,
                  AllOf(HasSubstr("waiting for a quiet machine ("),
                        HasSubstr(" so far, at most 1 h 0 min): CPU 1 is 98 % busy")));
      EXPECT_FALSE(around.asked_);
    } else {
      around.answer_look();
    }
  }
  around.settle();
  EXPECT_EQ(around.session_->state(), State::done);
  EXPECT_EQ(around.rows(), 8U);
  // Warm-up, three blocks, three looks that saw the load.
  EXPECT_EQ(looks, 7);
  EXPECT_THAT(trials_with_a_wait(around), ElementsAre(6));
  const auto waits = waits_of(around);
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_EQ(waits[0], "did not wait: load (no /proc)");
  EXPECT_THAT(waits[1], AllOf(HasSubstr("before block 3: "), HasSubstr("until then CPU 1 is 98")));
}

TEST(SessionWait, ReadersRunBetweenTwoLooks) {
  Around around(with_wait);
  around.session_->start();
  around.answer();
  around.readers_wait_ = true;
  ASSERT_TRUE(around.looking_);
  around.answer_look("CPU 1 is 98 % busy");
  EXPECT_FALSE(around.looking_);
  ASSERT_TRUE(around.go_on_);
  std::exchange(around.go_on_, nullptr)();
  EXPECT_TRUE(around.looking_);
  around.session_->cancel();
}

TEST(SessionWait, WhatIsWaitedForInVainIsMeasuredAnyway) {
  std::string plan = with_wait;
  plan.replace(plan.find("1h"), 2, "1ns");
  Around around(plan);
  around.session_->start();
  around.answer();
  around.answer_look("the other CPUs are 50 % busy");
  EXPECT_EQ(around.asked_, Kind::run);
  around.settle();
  EXPECT_EQ(around.session_->state(), State::done);
  EXPECT_THAT(trials_with_a_wait(around), ElementsAre(0));
  EXPECT_THAT(waits_of(around),
              ElementsAre(AllOf(HasSubstr("before warm-up block 1: "), HasSubstr(" in vain"))));
}

// A plan that called a measure like one of these would have two readings of one name.
TEST(SessionWait, NoMeasureOfAPlanCanBeCalledLikeAReadingOfTheSession) {
  std::string plan = with_wait;
  plan.replace(plan.find("1h"), 2, "1ns");
  Around around(plan);
  around.session_->start();
  around.answer();
  around.answer_look("the other CPUs are 50 % busy");
  around.settle();
  std::set<std::string> names;
  EXPECT_TRUE(around.store_->for_each_trial(around.id_, [&](const store::Trial& trial) {
    for (const counters::Reading& reading : trial.readings) names.insert(reading.name);
    return true;
  }));
  EXPECT_THAT(names, IsSupersetOf({"commit-before-ns", "quiet-wait-ns", "quiet-wait-in-vain"}));
  EXPECT_THAT(names, Each(Truly(plan::is_own_name)));
}

TEST(SessionWait, CancelAndPauseEndItAtOnceAndWhoGoesOnWaitsAnew) {
  Around around(with_wait);
  around.session_->start();
  around.answer();
  around.answer_look("CPU 1 is 98 % busy");
  ASSERT_TRUE(around.looking_);
  ASSERT_TRUE(around.session_->hold(1));
  EXPECT_FALSE(around.looking_);
  EXPECT_EQ(around.session_->state(), State::paused);
  around.settle();
  around.begin();
  around.session_->start();
  around.answer();
  ASSERT_TRUE(around.looking_);
  around.session_->cancel();
  EXPECT_FALSE(around.looking_);
  EXPECT_EQ(around.session_->state(), State::cancelled);
  EXPECT_EQ(around.rows(), 0U);
}

TEST(SessionWait, AKilledDaemonWaitsBeforeItGoesOnInsideABlock) {
  Around around(with_wait);
  around.session_->start();
  around.answer();
  around.answer_look();
  around.answer();
  EXPECT_EQ(around.rows(), 1U);
  around.begin();
  around.session_->start();
  around.answer();
  EXPECT_TRUE(around.looking_);
  around.settle();
  EXPECT_EQ(around.rows(), 8U);
}

TEST(SessionWait, ALostWorkerEndsALook) {
  Around around(with_wait);
  around.session_->start();
  around.answer();
  ASSERT_TRUE(around.looking_);
  around.end_worker();
  EXPECT_FALSE(around.looking_);
  around.settle();
  EXPECT_EQ(around.session_->state(), State::done);
}

}  // namespace
}  // namespace stab::daemon
