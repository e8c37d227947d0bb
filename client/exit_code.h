// SPDX-License-Identifier: MIT
// Defines stabctl's exit codes, and is the only place that chooses one after a comparison.
#pragma once

#include <string>

#include "base/error.h"
#include "protocol/messages.h"
#include "stats/verdicts/decide.h"

namespace stab::client {

inline constexpr int exit_ok = 0;         // it worked, whatever the verdicts
inline constexpr int exit_error = 1;      // wrong usage, or the tool failed
inline constexpr int exit_regressed = 2;  // something is slower (or higher)
inline constexpr int exit_unsure = 3;     // something is unsure
// Trials failed, or the experiment did not end well. Backup and recover: data is damaged or lost.
inline constexpr int exit_failed = 5;
// Plus the number of the signal, as in shells: 130 after Ctrl-C.
inline constexpr int exit_interrupted = 128;

// --fail-on: which findings are failures. By default, a verdict is an answer and not a failure.
struct FailOn {
  bool trials = true;
  bool regressed = false;
  bool unsure = false;
};
// Reads any of "trials,regressed,unsure", or "none".
Result<FailOn> read_fail_on(const std::string& text);

struct Ending {
  bool complete = true;        // false: cancelled or failed as a whole, which is always a failure
  bool trials_failed = false;  // trials failed or were skipped
  stats::Findings findings{};
};
// If there are several failures, the first in this order decides: trials, regressed, unsure.
int exit_code(const Ending& ending, const FailOn& fail_on);

// Reads the ending from the daemon's answer about a report or a comparison (doc/protocol.md).
Ending ending_of(const protocol::ReportReply& answer);

}  // namespace stab::client
