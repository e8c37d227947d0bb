// SPDX-License-Identifier: MIT
// The two processes that stand between the daemon and its worker on a node. Both have the
// experiment's user and pass lines on. The head is on the daemon's machine: for the daemon it takes
// the worker's place, it starts srun, and it says in a last line why the worker is lost. Slurm
// starts the node's process, which starts the worker.
//
// Invariants
//  H1  An earlier job of the same daemon and user has ended before another one starts.
//  H2  The last line about a lost step is sent after the step has ended, or after it must have ended
//      by itself for lack of signs of life.
//  H3  When the daemon hangs up, the allocation is freed. If the controller does not answer then,
//      the daemon starts heads that only free it (stabd/daemon/allocations.h).
//  N1  The worker and its trial end when the node's process ends, and when the daemon gives no sign
//      of life for the agreed time, whichever process on the way is dead or stopped.
//  N2  The node's process exits with 0 only after the worker and all that it started have ended.
#pragma once

#include <string>

namespace stab::cluster {

// `start` is a StepStart as JSON (step.h). The daemon is at descriptor 3. Returns the exit code.
int serve_head(const std::string& start);

// `start` is a NodeStart as JSON (step.h). Returns the exit code.
int serve_node(const std::string& start);

}  // namespace stab::cluster
