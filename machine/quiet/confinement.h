// SPDX-License-Identifier: MIT
// Confines the machine's other processes to some CPUs, by a cpuset of cgroup v1 that is made for it. The kernel's folder
// says all that is needed to let them go, whoever made it.
//
// Kernel threads stay where they are, and so do processes that are in other cpusets already or keep to those CPUs by
// themselves.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::machine {

inline constexpr std::string_view everywhere = "everywhere";

// The CPUs that the folder's processes are confined to, or `everywhere` if there is no such folder.
Result<std::string> confined_to(const std::string& folder);

// Neither this process, its descendants nor any other of its session.
bool is_other(pid_t process);

// Moves `whom` of the folder above into this one, also those that begin meanwhile; with `everywhere` all of them back.
// Fails where one cannot be moved or is bound to other CPUs by itself; then those that were moved in are let go.
Result<void> confine(const std::string& folder, const std::string& cpus,
                     const std::function<bool(pid_t)>& whom = is_other);

}  // namespace stab::machine
