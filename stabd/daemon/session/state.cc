// SPDX-License-Identifier: MIT
#include "stabd/daemon/session/state.h"

namespace stab::daemon {
namespace {

struct Row {
  State from;
  Event event;
  State to;
};

// `start` is allowed in every state in which a killed daemon may have left an experiment. After
// storage trouble or the loss of a worker, a new worker begins with the builds, which are cached.
constexpr std::array rows{
    Row{State::queued, Event::start, State::building},
    Row{State::queued, Event::cancel, State::cancelled},
    Row{State::queued, Event::refused, State::failed},
    Row{State::queued, Event::hold, State::paused},

    Row{State::building, Event::start, State::building},
    Row{State::building, Event::built, State::running},
    Row{State::building, Event::quiesce, State::quiescing},
    Row{State::building, Event::refused, State::failed},
    Row{State::building, Event::storage_trouble, State::paused},
    Row{State::building, Event::worker_lost, State::building},
    Row{State::building, Event::gave_up, State::failed},
    Row{State::building, Event::damaged, State::failed},
    Row{State::building, Event::cancel, State::cancelled},
    Row{State::building, Event::hold, State::paused},
    Row{State::building, Event::give_way, State::queued},

    Row{State::quiescing, Event::start, State::building},
    Row{State::quiescing, Event::quiet, State::running},
    Row{State::quiescing, Event::refused, State::failed},
    Row{State::quiescing, Event::storage_trouble, State::paused},
    Row{State::quiescing, Event::worker_lost, State::building},
    Row{State::quiescing, Event::gave_up, State::failed},
    Row{State::quiescing, Event::damaged, State::failed},
    Row{State::quiescing, Event::cancel, State::cancelled},
    Row{State::quiescing, Event::hold, State::paused},
    Row{State::quiescing, Event::give_way, State::queued},

    Row{State::running, Event::start, State::building},
    Row{State::running, Event::trials_complete, State::analysing},
    Row{State::running, Event::storage_trouble, State::paused},
    Row{State::running, Event::worker_lost, State::building},
    Row{State::running, Event::gave_up, State::failed},
    Row{State::running, Event::damaged, State::failed},
    Row{State::running, Event::cancel, State::cancelled},
    Row{State::running, Event::hold, State::paused},
    Row{State::running, Event::give_way, State::queued},

    Row{State::paused, Event::start, State::building},
    Row{State::paused, Event::storage_ok, State::building},
    Row{State::paused, Event::damaged, State::failed},
    Row{State::paused, Event::cancel, State::cancelled},
    Row{State::paused, Event::hold, State::paused},
    Row{State::paused, Event::let_go, State::queued},

    Row{State::analysing, Event::start, State::building},
    Row{State::analysing, Event::analysed, State::done},
    Row{State::analysing, Event::storage_trouble, State::paused},
    Row{State::analysing, Event::gave_up, State::failed},
    Row{State::analysing, Event::damaged, State::failed},
    Row{State::analysing, Event::cancel, State::cancelled},

    Row{State::done, Event::retry, State::queued},
    Row{State::failed, Event::retry, State::queued},
    Row{State::cancelled, Event::retry, State::queued},
};

struct Name {
  State state;
  std::string_view text;
};
constexpr std::array state_names{
    Name{State::queued, "queued"},       Name{State::building, "building"},
    Name{State::quiescing, "quiescing"}, Name{State::running, "running"},
    Name{State::paused, "paused"},       Name{State::analysing, "analysing"},
    Name{State::done, "done"},           Name{State::failed, "failed"},
    Name{State::cancelled, "cancelled"}};

}  // namespace

std::optional<State> next(State state, Event event) {
  for (const Row& row : rows)
    if (row.from == state && row.event == event) return row.to;
  return std::nullopt;
}

bool is_final(State state) {
  return state == State::done || state == State::failed || state == State::cancelled;
}

bool needs_worker(State state) {
  return state == State::building || state == State::quiescing || state == State::running;
}

std::string_view to_string(State state) {
  for (const Name& name : state_names)
    if (name.state == state) return name.text;
  return "";
}

std::optional<State> state_from(std::string_view text) {
  for (const Name& name : state_names)
    if (name.text == text) return name.state;
  return std::nullopt;
}

}  // namespace stab::daemon
