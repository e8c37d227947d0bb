// SPDX-License-Identifier: MIT
// How a session makes the machine quiet, and puts it back.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "plan/reading/key_list.h"
#include "stabd/daemon/session/testing.h"

namespace stab::daemon {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

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
  EXPECT_EQ(around.row().quietness, store::Quietness::poor);
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
  EXPECT_EQ(around.row().quietness, store::Quietness::poor);
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
                                       .reason = "another program has set it to 1"});
  for (int i = 0; i < 20 && around.session_->state() == State::running; ++i) around.answer();
  const auto events = quiet_events(around);
  // The warm-up is over.
  EXPECT_THAT(events, Contains("loud: ksm: another program has set it to 1; seen before block 1"));
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
