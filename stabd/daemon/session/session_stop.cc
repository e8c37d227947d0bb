// SPDX-License-Identifier: MIT
// The part of a session that asks the plan's stopping rule.
#include <fmt/format.h>

#include <algorithm>

#include "design/expand.h"
#include "stabd/daemon/session/session.h"
#include "stabd/results/document.h"

namespace stab::daemon {

bool Session::ends_before(const Schedule::Step& step) {
  const auto& stop = plan_.design.stop;
  const plan::Trial& trial = expansion_.trials[step.position];
  const bool begins =
      step.position > 0 && expansion_.trials[step.position - 1].block != trial.block;
  if (!stop || trial.warmup || !begins || !std::ranges::binary_search(stop->looks, trial.block))
    return false;
  const auto look = results::look_at_trials(store_, experiment_, plan_, trial.block);
  if (!look) {
    stored(std::unexpected(look.error()));
    return true;
  }
  last_look_ = fmt::format("after {} blocks {}", trial.block, look->words);
  if (look->stop)
    stopped_ =
        fmt::format("stopped after {} of {} blocks: {}", trial.block, stop->max, look->words);
  return look->stop;
}

}  // namespace stab::daemon
