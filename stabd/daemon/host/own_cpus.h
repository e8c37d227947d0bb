// SPDX-License-Identifier: MIT
// The CPUs on which this process runs, so that it stays off those of trials.
#pragma once

#include <vector>

namespace stab::daemon {

// Those on which it may run now; none if that cannot be told.
std::vector<unsigned> current_cpus();

// Where it cannot be done we stay where we are, which only adds noise; the log says so.
void run_on(const std::vector<unsigned>& cpus);

}  // namespace stab::daemon
