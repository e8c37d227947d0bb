// SPDX-License-Identifier: MIT
// Confines the machine's other processes to some CPUs with a cpuset of cgroup v1. The cpuset's
// folder has all that is needed to release them, no matter which process made it.
//
// Kernel threads are not moved, nor are processes that are already in other cpusets or have bound
// themselves to some of those CPUs.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::machine {

inline constexpr std::string_view everywhere = "everywhere";

// The CPUs to which the folder's processes are confined, or `everywhere` if the folder does not
// exist.
Result<std::string> confined_to(const std::string& folder);

// Whether the process is neither this process nor one of its descendants, and is not in its
// session.
bool is_other(pid_t process);

// Moves all processes that `whom` selects from the parent folder into this one, including those
// that start meanwhile. With `everywhere`, moves all of them back. Fails if a process can't be
// moved or has bound itself to other CPUs; then the processes that were moved are released.
Result<void> confine(const std::string& folder, const std::string& cpus,
                     const std::function<bool(pid_t)>& whom = is_other);

}  // namespace stab::machine
