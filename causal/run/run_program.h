// SPDX-License-Identifier: MIT
// Runs a program under the profiler, with our stdin, stdout and stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "causal/run/session_file.h"

namespace stab::causal {

struct Command {
  std::string path;
  std::vector<std::string> argv;       // at least one word
  std::string library;                 // for LD_PRELOAD, before what is there already
  std::chrono::nanoseconds timeout{};  // the program is ended after this time; 0: never
};

struct Ended {
  int exit_code = 0;
  int signal = 0;       // the signal that ended the program, or 0
  int interrupted = 0;  // the signal that asked us to end; the program got it, too
  bool timed_out = false;
  bool others_go_on = false;  // processes that the program left behind still run
  std::uint64_t passed_ns = 0;
};

// Returns the environment of a profiled program, made from the one that it would have.
std::vector<std::string> profiled(const std::vector<std::string>& environment,
                                  const std::string& library, const SessionFile& session);

// SIGINT, SIGTERM and SIGHUP end the program, but not this process. A timeout ends the program by
// SIGTERM and, five seconds later, SIGKILL. `looked` is called about once a second.
Result<Ended> run_program(const Command& command, const SessionFile& session,
                          const std::function<void()>& looked);

}  // namespace stab::causal
