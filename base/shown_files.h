// SPDX-License-Identifier: MIT
// Paths by which other processes of this user can open our files that have no name.
//
// If this process is not dumpable (PR_SET_DUMPABLE), nobody can open its descriptors through /proc.
// In that case a child holds the file, and no other file of ours. The child may only read and write
// (strict seccomp), so an attacker gains nothing by controlling it, but its memory is a copy of ours
// that others can read. It ends with us, and a plain wait() does not see it.
//
// Only for processes with a single thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace stab {

// A path to the descriptor's file, valid while we run and the descriptor is open; "" if it can't be
// made. Asking for the same file again is cheap.
std::string path_for_others(int fd);

// Whether the process is a child that holds our files.
bool holds_our_files(pid_t process);

}  // namespace stab
