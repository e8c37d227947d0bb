// SPDX-License-Identifier: MIT
// An experiment as clients see it.
#pragma once

#include "protocol/messages.h"
#include "stabd/daemon/session/session.h"
#include "store/records.h"

namespace stab::daemon {

// The summary of a stored row.
protocol::Summary summary_of(const store::Experiment& experiment);

// Without a session the result has only what is in the row.
protocol::Progress progress_of(const store::Experiment& experiment, const Session* session);

}  // namespace stab::daemon
