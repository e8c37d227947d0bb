// SPDX-License-Identifier: MIT
#include "stabd/daemon/session/state.h"

#include <gtest/gtest.h>

#include <set>

namespace stab::daemon {
namespace {

TEST(State, FinalStatesAreLeftByARetryOnly) {
  for (const State state : all_states)
    for (const Event event : all_events)
      if (is_final(state))
        EXPECT_EQ(next(state, event).has_value(), event == Event::retry) << to_string(state);
}

TEST(State, EveryStateIsReachedFromTheQueue) {
  std::set<State> reached{State::queued};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const State state : std::set<State>(reached))
      for (const Event event : all_events)
        if (const auto to = next(state, event)) reached.insert(*to);
  }
  EXPECT_EQ(reached.size(), all_states.size());
}

TEST(State, EveryUnfinishedExperimentCanEndAndCanBeCancelled) {
  for (const State state : all_states) {
    if (is_final(state)) continue;
    EXPECT_EQ(next(state, Event::cancel), State::cancelled) << to_string(state);
    std::set<State> reached{state};
    for (std::size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const State from : std::set<State>(reached))
        for (const Event event : all_events)
          if (event != Event::cancel)
            if (const auto to = next(from, event)) reached.insert(*to);
    }
    EXPECT_TRUE(reached.contains(State::done)) << to_string(state);
  }
}

TEST(State, WhateverAKilledDaemonLeftCanBeStarted) {
  for (const State state : all_states)
    if (!is_final(state)) EXPECT_EQ(next(state, Event::start), State::building) << to_string(state);
}

TEST(State, OnlyAPausedExperimentWaitsForStorage) {
  for (const State state : all_states)
    EXPECT_EQ(next(state, Event::storage_ok).has_value(), state == State::paused)
        << to_string(state);
}

TEST(State, WhatIsBeingMeasuredCanBePausedAndWhatIsPausedCanGoOn) {
  for (const State state :
       {State::queued, State::building, State::quiescing, State::running, State::paused})
    EXPECT_EQ(next(state, Event::hold), State::paused) << to_string(state);
  EXPECT_EQ(next(State::paused, Event::let_go), State::queued);
}

TEST(State, TrialsRunOnlyAfterTheBuilds) {
  for (const State state : all_states)
    for (const Event event : all_events)
      if (next(state, event) == State::running)
        EXPECT_TRUE(state == State::building || state == State::quiescing) << to_string(state);
}

TEST(State, TheMachineIsMadeQuietAfterTheBuilds) {
  for (const State state : all_states)
    for (const Event event : all_events)
      if (next(state, event) == State::quiescing) EXPECT_EQ(state, State::building);
}

TEST(State, NamesGoThereAndBack) {
  for (const State state : all_states) EXPECT_EQ(state_from(to_string(state)), state);
  EXPECT_EQ(state_from("resting"), std::nullopt);
}

}  // namespace
}  // namespace stab::daemon
