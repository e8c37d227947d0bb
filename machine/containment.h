// SPDX-License-Identifier: MIT
// Starts a worker in such a way that none of its descendants can outlive it.
//
// The worker is the first process of its own pid namespace, with its own /proc. When it ends, for
// whatever reason, the kernel ends all other processes in the namespace before it reports the end.
// The worker gets SIGKILL when its parent dies. If the kernel allows it, the worker also has its
// own shared memory. If namespaces are not allowed, the worker is an ordinary child that adopts
// orphans, and processes.h can find the processes that are left.
//
// The worker inherits none of our streams, no descriptor except for the one that is passed to it,
// and no keys: it has its own session keyring.
//
// Shared memory is memory that processes share by name and that outlives them: files in /dev/shm,
// System V objects and message queues. Each namespace that start_contained() creates has its own,
// if the kernel allows it. The namespace's first process empties it after each trial, when all
// processes of the trial have ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "machine/processes.h"

namespace stab::machine {

// Must be called in a new mount namespace, with the rights to mount. Any part that the kernel
// refuses stays shared with the whole machine; see has_own_shared_memory().
void take_own_shared_memory();

// Whether this process has its own /dev/shm, and does not share the machine's.
bool has_own_shared_memory();

// Removes everything from our own shared memory; returns an error if something remains. Does
// nothing if the memory is shared with the machine.
Result<void> empty_own_shared_memory();

// Tries whether this process may create a pid namespace with its own /proc.
Containment best_containment();

struct ContainedStart {
  std::vector<std::string> argv;         // argv[0] is the program's path
  std::vector<std::string> environment;  // "NAME=value"
  Containment containment = Containment::process_tree;
  std::uint32_t uid = 0;  // the program's rights; only root can choose others than its own
  std::uint32_t gid = 0;
  int passed_fd = -1;  // becomes descriptor 3; no other descriptor is passed on
  int input_fd = -1;   // becomes its stdin, which is empty otherwise
  int output_fd = -1;  // becomes its stdout and stderr, which are discarded otherwise
  // false: the program has no capabilities, even as root, and no program that it executes gains
  // rights (setuid, setgid, file capabilities).
  bool privileged = false;
  std::vector<std::string> doors{};  // of the cgroup in which it starts (trial_group.h)
  // The path of stabd, which is run to ask PAM for the user's limits (user_limits.h). If it is "",
  // or if we are not root, the program has our limits.
  std::string limits_by{};
  // true: the program has the user's limits. false: it has ours, may set the user's limits for its
  // children, and finds them in its environment.
  bool limited = true;
  // false: its network is only a loopback device of its own, which needs namespaces.
  bool network = true;
  // false: it leads a process group in our session. If the kernel schedules by session (autogroup),
  // it then yields to us at once under SCHED_IDLE.
  bool own_session = true;
};

struct Contained {
  pid_t pid = 0;
  Fd pidfd;  // readable when it has ended and, in a namespace, all its descendants have
};

// Says what the builds and trials of a plan may do if root submits the plan; "" for other users.
std::string words_about_rights(std::uint32_t uid, bool privileged);

// Drops this process's capabilities, so that nothing that it executes gains rights, as in a trial
// without privileges. Returns false if the kernel refuses.
bool give_up_privileges();

// Must be called from the main thread, because the child gets SIGKILL at the end of the thread that
// started it.
Result<Contained> start_contained(const ContainedStart& start);

}  // namespace stab::machine
