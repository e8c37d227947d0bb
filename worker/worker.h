// SPDX-License-Identifier: MIT
// The process that builds and measures one experiment with its submitter's rights. It carries out
// the daemon's requests one after the other. It ends when the daemon hangs up, or sends something
// while the worker is busy.
#pragma once

#include <cstdint>

namespace stab::worker {

// The descriptor of the conversation with the daemon.
inline constexpr int daemon_fd = 3;

// Returns the process's exit code.
int serve();

// The main function of a process that asks PAM for a user's limits (machine/user_limits.h). Returns
// the exit code.
int print_limits_of(std::uint32_t uid);

}  // namespace stab::worker
