// SPDX-License-Identifier: MIT
// The life of an experiment as a table: which event leads from which state to which. Pure; the
// daemon's loop only waits, and asks this table what an event means.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace stab::daemon {

enum class State {
  queued,
  building,
  quiescing,
  running,
  paused,
  analysing,
  done,
  failed,
  cancelled
};

enum class Event {
  start,            // its turn has come, or the daemon found it unfinished when it started
  built,            // every build has been tried, and the machine stays as it is
  quiesce,          // every build has been tried, and the plan wants a quiet machine
  quiet,            // it is as quiet as the plan needs it
  refused,          // the machine or the builds make the plan senseless
  trials_complete,  // no trial is left
  analysed,
  storage_trouble,  // a row could not be stored: disk full, read-only
  storage_ok,       // it could be stored after all
  worker_lost,      // the worker ended without having been asked to
  gave_up,          // it did so again and again
  damaged,          // stored rows do not match their checksums
  cancel,
  hold,      // somebody pauses it
  let_go,    // whoever paused it, or who may do anything
  retry,     // what did not succeed is to be measured once more
  give_way,  // its turn is over: somebody else is next
};

inline constexpr std::array all_states{State::queued,  State::building, State::quiescing,
                                       State::running, State::paused,   State::analysing,
                                       State::done,    State::failed,   State::cancelled};
inline constexpr std::array all_events{Event::start,      Event::built,
                                       Event::quiesce,    Event::quiet,
                                       Event::refused,    Event::trials_complete,
                                       Event::analysed,   Event::storage_trouble,
                                       Event::storage_ok, Event::worker_lost,
                                       Event::gave_up,    Event::damaged,
                                       Event::cancel,     Event::hold,
                                       Event::let_go,     Event::retry,
                                       Event::give_way};

// Nothing: the event has no meaning in this state.
std::optional<State> next(State state, Event event);

bool is_final(State state);
// A worker is used.
bool needs_worker(State state);

std::string_view to_string(State state);
std::optional<State> state_from(std::string_view text);

}  // namespace stab::daemon
