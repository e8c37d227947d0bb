// SPDX-License-Identifier: MIT
// The process that stands in for a worker on the daemon's machine while the worker is on a node. It
// has the experiment's user, starts srun as that user, and passes lines on. It says in a last line
// why the worker is lost.
//
// Invariants
//  H1  An earlier job of the same daemon and user has ended before another one starts.
//  H2  The last line about a lost step is sent after the step has ended, or after it must have ended
//      by itself for lack of signs of life.
//  H3  When the daemon hangs up, the allocation is freed.
#pragma once

#include <string>

namespace stab::cluster {

// `start` is a StepStart as JSON (step.h). The daemon is at descriptor 3. Returns the exit code.
int serve_head(const std::string& start);

}  // namespace stab::cluster
