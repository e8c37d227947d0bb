// SPDX-License-Identifier: MIT
// The life of an experiment as a table: each row says to which state an event leads from a state.
// Pure; the daemon's loop only waits, and asks this table what an event means.
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
  start,            // its turn has come, or a new daemon found it unfinished
  built,            // every build has been tried, and the machine stays as it is
  quiesce,          // every build has been tried, and the plan wants a quiet machine
  quiet,            // the machine is as quiet as the plan needs it
  refused,          // the plan makes no sense with this machine or these builds
  trials_complete,  // no trial is left
  analysed,
  storage_trouble,  // a row could not be stored: disk full, read-only
  storage_ok,       // the row could be stored after all
  worker_lost,      // the worker ended on its own
  gave_up,  // the experiment failed for good: its worker was lost too often, or it can't go on
  damaged,  // stored rows do not match their checksums
  cancel,
  hold,      // a user pauses it
  let_go,    // the user who paused it, root or the daemon's own user resumes it
  retry,     // trials that did not succeed are to be measured again
  give_way,  // its turn is over, and another user is next
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

// Nothing if the event has no meaning in this state.
std::optional<State> next(State state, Event event);

bool is_final(State state);
// Whether the experiment uses a worker in this state.
bool needs_worker(State state);

std::string_view to_string(State state);
std::optional<State> state_from(std::string_view text);

}  // namespace stab::daemon
