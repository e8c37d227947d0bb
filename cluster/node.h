// SPDX-License-Identifier: MIT
// The process that Slurm starts on a node, as the experiment's user. It starts the worker and passes
// lines on between it and our standard streams.
//
// Invariants
//  N1  The worker and its trial end when we end, and when the daemon gives no sign of life for the
//      agreed time, whichever process on the way is dead or stopped.
//  N2  We exit with 0 only after the worker and all that it started have ended.
#pragma once

#include <string>

namespace stab::cluster {

// `start` is a NodeStart as JSON (step.h). Returns the exit code.
int serve_node(const std::string& start);

}  // namespace stab::cluster
