// SPDX-License-Identifier: MIT
// Starts a worker so that nothing it starts can outlive it.
//
// The worker is the first process of a pid namespace of its own, with a /proc of its own: when it
// ends, for whatever reason, the kernel ends all others in there before it reports the end. It gets
// SIGKILL when its parent dies. It shares no memory by name with others (shared_memory.h), where the kernel lets it. Where namespaces are not allowed it is an ordinary child that
// adopts orphans, and processes.h has the means to find what is left.
//
// It has nothing of ours: no stream, no other descriptor than the one that it is passed, and no key of our session's
// keyring, but a keyring of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "machine/processes.h"

namespace stab::machine {

// Whether this process may make pid namespaces with a /proc of their own. Tries it.
Containment best_containment();

struct ContainedStart {
  std::vector<std::string> argv;         // argv[0] is the path of the program
  std::vector<std::string> environment;  // "NAME=value"
  Containment containment = Containment::process_tree;
  std::uint32_t uid = 0;  // rights of the program; others than our own need root
  std::uint32_t gid = 0;
  int passed_fd = -1;  // becomes descriptor 3; no other one of ours is passed on
  int input_fd = -1;   // becomes its stdin, which else is empty
  int output_fd = -1;  // becomes its stdout and stderr, which else go nowhere
  // Without it the program has no capabilities, also as root, and no program that it executes gains
  // rights (setuid, setgid, file capabilities).
  bool privileged = false;
  std::vector<std::string>
      doors{};  // of its cgroup (trial_group.h), in which it is from its beginning
  // Path of stabd, which asks PAM for the user's limits (user_limits.h); "", or if we are not root: it has ours.
  std::string limits_by{};
  // It has the user's limits. false: it has ours, may give its children the user's, and finds them in its environment.
  bool limited = true;
  // false: it has a loopback device of its own and no other network. Needs namespaces.
  bool network = true;
  // false: it leads a process group of our session, so that under SCHED_IDLE it gives way to us at
  // once where the kernel groups processes by session.
  bool own_session = true;
};

struct Contained {
  pid_t pid = 0;
  Fd pidfd;  // readable when it has ended, and with it, in a namespace, all that it started
};

// This process keeps no capability, and nothing that it executes gains rights, as a trial without
// privileges. False if the kernel refuses.
bool give_up_privileges();

// Call it from the main thread: the SIGKILL at the parent's death is tied to the thread that
// starts.
Result<Contained> start_contained(const ContainedStart& start);

}  // namespace stab::machine
