// SPDX-License-Identifier: MIT
// Counts how often the kernel has moved a process from one CPU to another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace stab::machine {

// Parses the number in the text of /proc/PID/sched; nullopt if it is missing or has an unknown
// format.
std::optional<std::int64_t> migrations_in(std::string_view sched);

// Reads the number for the process's first thread, which may have ended but not been reaped. 0 is
// the calling process.
std::optional<std::int64_t> migrations_of(pid_t process);

}  // namespace stab::machine
