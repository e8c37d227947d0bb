// SPDX-License-Identifier: MIT
// Runs one program to its end and says what happened: the measuring part of a trial.
//
// None of our code runs while the program computes: we wait for its end, its output, the timeout or
// a request to stop. Wall time is measured with the monotonic clock, from right before exec, in the
// child, to the moment when its end is seen. If the program has limits, we also look at its
// processes from time to time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "counters/readings.h"
#include "machine/processes.h"

namespace stab::machine {

inline constexpr std::chrono::milliseconds look_interval{20};

// Limits of what a program and its descendants may use together. They don't change where the
// program's memory is and don't count what its user runs elsewhere, as RLIMIT_AS and RLIMIT_NPROC
// would: we check the descendants from outside, every `look_interval`, and only if there is a
// limit. 0 means no limit.
struct Limits {
  // Bytes: the sum of each process's own memory, plus the shared memory. That is what their group
  // shares (trial_group.h), or what the process with most of it shares if that is more.
  std::uint64_t memory = 0;
  std::chrono::nanoseconds cpu{0};
  std::uint32_t processes = 0;
  std::uint64_t file = 0;  // bytes of each written file; enforced by the kernel

  [[nodiscard]] bool needs_looks() const {
    return memory != 0 || cpu.count() != 0 || processes != 0;
  }
  bool operator==(const Limits&) const = default;
};

struct Use {
  std::uint64_t memory = 0;
  // Includes processes that have ended, unless their parent ignores the end of its children.
  std::chrono::nanoseconds cpu{0};
  std::uint32_t processes = 0;
};

// The use of all descendants of this process except for `but` (0: all). `before` is the value of
// shared_memory_of_group() before they started.
Use use_of_descendants(pid_t but, std::uint64_t before);

// The increase of shared_memory_of_group() since it was `before`.
std::uint64_t shared_since(std::uint64_t before);

// "used more memory than its limit of 1000000 bytes", or "".
std::string passed_limit(const Limits& limits, const Use& use);

// The stack limit of programs. It determines where their mappings start.
inline constexpr std::uint64_t stack_bytes = std::uint64_t{8} << 20;

struct Launch {
  // argv[0] is a path if it contains a slash; otherwise it is searched in the PATH of
  // `environment`.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string directory;                 // the working directory
  std::string stdin_path;                // "": /dev/null
  std::chrono::nanoseconds timeout{0};   // 0: no timeout
  // The most bytes of stdout, and of stderr. A program that prints more is ended.
  std::uint64_t output_limit = 0;
  Limits limits{};
  // The words and the environment of a command that starts at the same moment on the same CPUs, so
  // that the kernel lets the two take turns. It has the same stdin, folder, timeout and limits, and
  // its output is thrown away. Empty: there is none.
  std::vector<std::string> beside;
  std::vector<std::string> beside_environment;
  bool merge_stderr = false;  // stderr is merged into stdout, in order
  bool keep_aslr = false;     // false: the address space has the same layout each time
  // Binds the child to its CPUs; returns false if that fails. Called in the child before exec,
  // where it shares our memory, which it must not change.
  std::function<bool()> bind;
  // Called with the program's pid while it waits before exec. The time that this takes is not
  // measured.
  std::function<void(pid_t)> held;
  // `watched` is called while the program runs, whenever the descriptor that `watched_fd` returns
  // is readable. The descriptor exists since held(); -1 if there is none.
  std::function<int()> watched_fd;
  std::function<void()> watched;
  int stop_fd = -1;  // the program is ended when this becomes readable
  Containment containment = Containment::process_tree;
};

enum class End { exited, signalled, timeout, output_limit, over_limit, stopped, not_started };

// The end of the command beside a program.
struct BesideEnded {
  std::string fault{};   // why it did not end by itself; "": it did
  bool stopped = false;  // we had to stop before it had ended
  int exit_code = 0;
  std::chrono::nanoseconds cpu{0};  // of the command and of children that it waited for
};

struct Ended {
  End how = End::not_started;
  int pid = 0;                       // 0 if there was no process
  int exit_code = 0;                 // exited
  int signal = 0;                    // signalled
  std::string reason;                // for people: what went wrong, if anything
  std::int64_t started_ns = 0;       // since 1970, by the wall clock
  std::chrono::nanoseconds wall{0};  // 0 if it ended before exec
  std::chrono::nanoseconds user{0};  // of the program and of children that it waited for
  std::chrono::nanoseconds system{0};
  std::optional<std::int64_t> max_rss_bytes;  // of the largest of these processes
  std::string out;
  std::string err;
  bool readable = true;                     // the program's file can be read, not only executed
  bool stuck = false;                       // a descendant does not end, which `reason` names
  unsigned leftovers = 0;                   // processes that outlived the program and that we ended
  std::vector<counters::Reading> readings;  // from the kernel's accounting
  // If there was a command beside the program, and the program ended by itself.
  std::optional<BesideEnded> beside;
};

// Runs the program with limits_of_programs() (user_limits.h). Every outcome is described by the
// returned value. When run() returns, no descendant of the program is alive, unless `reason` says
// which one does not end.
Ended run(const Launch& launch);

// Replaces this process by the program, with the same environment, directory, limits and address
// space as in run(). It keeps our stdout and stderr, and our stdin unless the launch names a file.
// Returns only if it fails.
Error replace_this_process(const Launch& launch);

}  // namespace stab::machine
