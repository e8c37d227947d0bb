// SPDX-License-Identifier: MIT
// Runs one program to its end and says what happened: the measuring part of a trial.
//
// Nothing of ours wakes up while the program computes: we wait for its end, its output, the timeout
// or a request to stop. Wall time is taken from the monotonic clock right before exec, in the
// child, to the moment its end is seen.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "counters/reading.h"
#include "machine/limits.h"
#include "machine/processes.h"

namespace stab::machine {

// The limit of a program's stack, which decides where its mappings start.
inline constexpr std::uint64_t stack_bytes = std::uint64_t{8} << 20;

struct Launch {
  // argv[0] with a slash is a path, otherwise it is searched in PATH of `environment`.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string directory;                 // where it runs
  std::string stdin_path;                // "": /dev/null
  std::chrono::nanoseconds timeout{0};   // 0: none
  // Bytes of stdout, and of stderr. Beyond it the program is ended.
  std::uint64_t output_limit = 0;
  Limits limits{};
  bool merge_stderr = false;  // stderr goes where stdout goes, in order
  bool keep_aslr = false;     // false: the address space is laid out the same each time
  // Called in the child before exec, when it still uses our memory, which must be left as it was: binds it to its CPUs.
  // False: it is not bound.
  std::function<bool()> bind;
  // Called with its pid while it waits before exec; no time of it is the program's.
  std::function<void(pid_t)> held;
  // While the program runs, called each time that `watched_fd`, which is there since held(), can be read;
  // -1: nothing is.
  std::function<int()> watched_fd;
  std::function<void()> watched;
  int stop_fd = -1;  // when it becomes readable the program is ended
  Containment containment = Containment::process_tree;
};

enum class End { exited, signalled, timeout, output_limit, over_limit, stopped, not_started };

struct Ended {
  End how = End::not_started;
  int pid = 0;                       // that it had; 0: there was no process
  int exit_code = 0;                 // exited
  int signal = 0;                    // signalled
  std::string reason;                // for people, unless it exited
  std::int64_t started_ns = 0;       // wall clock, since 1970
  std::chrono::nanoseconds wall{0};  // 0: it was ended before exec
  std::chrono::nanoseconds user{0};  // of the program and the children that it waited for
  std::chrono::nanoseconds system{0};
  std::optional<std::int64_t> max_rss_bytes;  // of the largest of them
  std::string out;
  std::string err;
  bool readable = true;                     // its file may be read, not only executed
  bool stuck = false;                       // a descendant does not end; `reason` names it
  unsigned leftovers = 0;                   // processes that outlived it, ended by us
  std::vector<counters::Reading> readings;  // what the kernel accounted
};

// The program has limits_of_programs() (user_limits.h). Every outcome of it is a value; none is an error of ours. When it returns, no descendant
// of it is alive, or `reason` says which one does not end.
Ended run(const Launch& launch);

// This process becomes the program, with the environment, directory, limits and address space that
// run() gives it, and our stdout and stderr; stdin, too, unless the launch names a file. Returns
// only if it cannot be.
Error replace_this_process(const Launch& launch);

}  // namespace stab::machine
