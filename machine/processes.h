// SPDX-License-Identifier: MIT
// Finding and ending the processes that a trial or a build left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace stab::machine {

// Identifies a process over time: pids are used again, (boot, pid, start time) are not.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // since boot, from /proc/PID/stat
  std::string boot;               // /proc/sys/kernel/random/boot_id
  bool operator==(const ProcessId&) const = default;
};

// Nothing if there is no such process (a zombie counts as one).
std::optional<ProcessId> identify(pid_t pid);

// A thread of the kernel's, which has a pid as processes have.
bool is_of_kernel(pid_t process);

// It ends, and is a process until its memory is freed.
bool is_ending(pid_t process);

// In a child before exec: every signal has its default action, and none is blocked.
void reset_signals();

// Makes this process the parent of its orphaned descendants, so that none can leave its tree.
Result<void> adopt_orphans();

// Processes below this one, children and theirs, by /proc: the living ones, or with those that have
// ended and were not waited for. One whose first thread has ended lives as long as another one does.
// Those that hold our files (base/shown_files.h) are none of them.
enum class Which { living, all };
std::vector<pid_t> descendants(Which which = Which::living);

// Whether this process was made the first of a pid namespace (see containment.h), where one signal
// reaches all others.
enum class Containment { process_tree, pid_namespace };

// Ends every descendant of this process with SIGKILL and reaps it, also one that called setsid or
// forked twice. The caller has adopted orphans or is the first process of a pid namespace. Returns
// how many were still running. Gives up at the deadline (a process in an uninterruptible wait) with
// an error that names one.
Result<unsigned> end_descendants(Containment containment, std::chrono::milliseconds deadline);

// Kills the process if it is still the one that was identified. It need not be a child. Whether it
// went before the deadline: a tracer or the kernel may keep what has been killed.
Result<bool> end_process(const ProcessId& process, std::chrono::milliseconds deadline);

// Reaps a child whose end its pidfd has told. Nothing if another process traces it and so keeps its
// end from its parent (ptrace): it is dead all the same, and later calls reap it when they can.
std::optional<int> reap(pid_t ended);

// Where memory is short the kernel ends this process before others.
void be_the_first_to_go();

// "was ended by signal 9 (Killed)", "ended with exit code 1"; of what reap() says.
std::string how_it_ended(std::optional<int> status);

// Ends every process of ours whose initial environment holds "NAME=value". Processes that were
// started with another environment are not found: this is the last resort where pid namespaces are
// not allowed.
Result<unsigned> end_marked(std::string_view marker, std::chrono::milliseconds deadline);

}  // namespace stab::machine
