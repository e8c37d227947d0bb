// SPDX-License-Identifier: MIT
// What stabctl exits with after a comparison: the only place.
#pragma once

#include <string>

#include "base/error.h"
#include "protocol/messages.h"
#include "stats/verdicts/decide.h"

namespace stab::client {

inline constexpr int exit_ok = 0;         // it worked, whatever the verdicts
inline constexpr int exit_error = 1;      // usage, or the tool failed
inline constexpr int exit_regressed = 2;  // something is slower (or higher)
inline constexpr int exit_unsure = 3;     // something cannot be told
// Trials failed, or the experiment did not end well; of backup and recover: not all is whole.
inline constexpr int exit_failed = 5;
// And the number of the signal, as shells have it: 130 after Ctrl-C.
inline constexpr int exit_interrupted = 128;

// --fail-on: which findings are failures. A verdict is an answer unless it is asked for as one.
struct FailOn {
  bool trials = true;
  bool regressed = false;
  bool unsure = false;
};
// "trials,regressed,unsure", any of them, or "none".
Result<FailOn> read_fail_on(const std::string& text);

struct Ending {
  bool complete = true;        // not cancelled, not failed as a whole: that is always a failure
  bool trials_failed = false;  // or were skipped
  stats::Findings findings{};
};
// Of several failures the first in this order: trials, regressed, unsure.
int exit_code(const Ending& ending, const FailOn& fail_on);

// As the daemon's answer about a report or a comparison has it (doc/protocol.md).
Ending ending_of(const protocol::ReportReply& answer);

}  // namespace stab::client
