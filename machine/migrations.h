// SPDX-License-Identifier: MIT
// How often the kernel has moved a process from one CPU to another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace stab::machine {

// In what /proc/PID/sched shows; nothing if it does not say, or in a form that is not known.
std::optional<std::int64_t> migrations_in(std::string_view sched);

// Of the process's first thread, which may have ended if nobody has reaped it; 0: of the caller's.
std::optional<std::int64_t> migrations_of(pid_t process);

}  // namespace stab::machine
