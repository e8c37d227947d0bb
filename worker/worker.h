// SPDX-License-Identifier: MIT
// The process that builds and measures one experiment, with the submitter's rights. It does what
// the daemon asks for, one request after the other, and ends when the daemon hangs up or asks for
// something while it is busy.
#pragma once

#include <cstdint>

namespace stab::worker {

// Descriptor of the conversation with the daemon.
inline constexpr int daemon_fd = 3;

// The process's exit code.
int serve();

// What a process does that asks PAM for a user's limits (machine/user_limits.h). The exit code.
int print_limits_of(std::uint32_t uid);

}  // namespace stab::worker
