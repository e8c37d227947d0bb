// SPDX-License-Identifier: MIT
// What clients see of an experiment.
#pragma once

#include "protocol/messages.h"
#include "stabd/daemon/session/session.h"
#include "store/records.h"

namespace stab::daemon {

// What the row says.
protocol::Summary summary_of(const store::Experiment& experiment);

// Without a session only what the row says.
protocol::Progress progress_of(const store::Experiment& experiment, const Session* session);

}  // namespace stab::daemon
