// SPDX-License-Identifier: MIT
// A program runs under the profiler, with our stdin, stdout and stderr.
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
  std::vector<std::string> argv;       // has a first word
  std::string library;                 // for LD_PRELOAD, before what is there already
  std::chrono::nanoseconds timeout{};  // after it the program is ended; 0: never
};

struct Ended {
  int exit_code = 0;
  int signal = 0;       // that ended the program; 0: none
  int interrupted = 0;  // the signal that asked us to end; the program has got it, too
  bool timed_out = false;
  bool others_go_on = false;  // processes that the program began and left behind
  std::uint64_t passed_ns = 0;
};

// The environment of a program that is profiled, made of the one that it would have.
std::vector<std::string> profiled(const std::vector<std::string>& environment,
                                  const std::string& library, const SessionFile& session);

// SIGINT, SIGTERM and SIGHUP end the program and do not end this process, nor does a timeout, which is
// SIGTERM and five seconds later SIGKILL. `looked` is called about once a second.
Result<Ended> run_program(const Command& command, const SessionFile& session,
                          const std::function<void()>& looked);

}  // namespace stab::causal
