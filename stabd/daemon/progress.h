// SPDX-License-Identifier: MIT
// What clients see of an experiment, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stabd/daemon/session.h"
#include "store/records.h"

namespace stab::daemon {

// {"id", "name", "state", "reason", ...}: what the row says.
nlohmann::ordered_json summary_json(const store::Experiment& experiment);

// {"kind":"progress", "id", "state", "reason", "final", "total", "done", "ok", "failed", "skipped",
// "builds", "builds_done", "activity", "fewest", "look", "left_ns"}; without a session only what
// the row says.
std::string progress_line(const store::Experiment& experiment, const Session* session);

}  // namespace stab::daemon
