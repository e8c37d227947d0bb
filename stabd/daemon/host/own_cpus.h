// SPDX-License-Identifier: MIT
// The CPUs on which this process runs, which should not be the trials' CPUs.
#pragma once

#include <vector>

namespace stab::daemon {

// The CPUs on which this process may run now; empty if the kernel doesn't say.
std::vector<unsigned> current_cpus();

// If we can't move, we stay where we are and log it: that only adds noise.
void run_on(const std::vector<unsigned>& cpus);

}  // namespace stab::daemon
