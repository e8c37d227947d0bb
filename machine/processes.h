// SPDX-License-Identifier: MIT
// Finds and ends the processes that a trial or a build left behind, and counts how often the kernel
// has moved a process from one CPU to another.
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

// How often the kernel has moved a process from one CPU to another. Parses the number in the text
// of /proc/PID/sched; nullopt if it is missing or has an unknown format.
std::optional<std::int64_t> migrations_in(std::string_view sched);

// Reads the number for the process's first thread, which may have ended but not been reaped. 0 is
// the calling process.
std::optional<std::int64_t> migrations_of(pid_t process);

// Identifies a process for good: pids are reused, but (boot, pid, start time) is unique.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // since boot, from /proc/PID/stat
  std::string boot;               // /proc/sys/kernel/random/boot_id
  bool operator==(const ProcessId&) const = default;
};

// Returns nullopt if the process does not exist; zombies exist.
std::optional<ProcessId> identify(pid_t pid);

// Whether it is a kernel thread; these have pids, too.
bool is_of_kernel(pid_t process);

// Whether it is exiting; it remains a process until its memory is freed.
bool is_ending(pid_t process);

// For a child before exec: gives every signal its default action and unblocks all signals.
void reset_signals();

// Makes this process the parent of its orphaned descendants, so that no descendant can leave its
// tree.
Result<void> adopt_orphans();

// Finds all descendants of this process in /proc: only the living ones, or also those that have
// ended and were not waited for. A process lives as long as one of its threads does. Processes that
// hold our files (base/shown_files.h) are left out.
enum class Which { living, all };
std::vector<pid_t> descendants(Which which = Which::living);

// Whether this process is the first one of its own pid namespace (containment.h), where one signal
// reaches all other processes.
enum class Containment { process_tree, pid_namespace };

// Ends every descendant of this process with SIGKILL and reaps it, even if it called setsid or
// forked twice. The caller must have called adopt_orphans() or be the first process of a pid
// namespace. Returns how many were still running. If one does not end before the deadline, for
// example in an uninterruptible wait, returns an error that names it.
Result<unsigned> end_descendants(Containment containment, std::chrono::milliseconds deadline);

// Kills the process, which need not be a child, if it is still the one that was identified. Returns
// whether it ended before the deadline: a tracer or the kernel may delay the end of a killed
// process.
Result<bool> end_process(const ProcessId& process, std::chrono::milliseconds deadline);

// Reaps a child after its pidfd has reported its end. Returns nullopt if another process traces it
// (ptrace), which hides its end from its parent. It is dead nevertheless, and later calls reap it
// as soon as they can.
std::optional<int> reap(pid_t ended);

// Makes the kernel end this process before others if memory runs out.
void be_the_first_to_go();

// Describes the result of reap(): "was killed by signal 9 (Killed)", "ended with exit code 1".
std::string how_it_ended(std::optional<int> status);

// Ends every process that we may signal and whose initial environment contains `marker`, which is
// "NAME=value". It does not find processes that were started with another environment, so it is
// only the last resort on machines without pid namespaces.
Result<unsigned> end_marked(std::string_view marker, std::chrono::milliseconds deadline);

}  // namespace stab::machine
