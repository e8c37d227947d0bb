// SPDX-License-Identifier: MIT
// Paths by which other processes of this user open files of ours that have no name.
//
// A process that others may not look into (PR_SET_DUMPABLE) shows nobody its descriptors either. Then a child that has
// the file, and nothing else of ours, holds it. The child may make no system calls but read and write, so that whoever gets
// hold of it can start nothing with it. It ends with us, and is no child that a plain wait() sees.
//
// Not for processes with several threads.
#pragma once

#include <sys/types.h>

#include <string>

namespace stab {

// A path of the file behind our descriptor, valid while we live and the descriptor is open; "" if there is none. Costs
// little for a file that was shown before.
std::string path_for_others(int fd);

// Whether it is such a child of ours.
bool holds_our_files(pid_t process);

}  // namespace stab
