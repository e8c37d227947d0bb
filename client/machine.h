// SPDX-License-Identifier: MIT
// The verbs of stabctl that look at or change the machine it runs on. They need no daemon.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace stab::client {

struct MachineOptions {
  std::vector<std::string> knobs;  // empty means the standard knobs
  unsigned trial_cpus = 1;
  bool strict = false;  // for `apply`: change all knobs or nothing
  bool json = false;
  std::vector<std::string> programs{};  // for `doctor`: programs whose layout to look at
  bool machines = false;                // for `doctor`: look at the cluster instead
  std::string root;                     // comes before /proc and /sys in paths
  std::string log;                      // "" means the machine's log
};

struct CounterOptions {
  std::string pattern;  // part of a name, or a glob; "" means a short list of all
  bool json = false;
};
// Prints the events that each trial can count on this machine.
Result<int> counters(const CounterOptions& options);

struct CompilerOptions {
  std::optional<std::string>
      added{};  // a clang to add the pass to; nothing means to list the compilers that have it
  bool json = false;
};
// Runs szc, which knows the compilers.
Result<int> compilers(const CompilerOptions& options);

Result<int> doctor(const MachineOptions& options);
Result<int> quiesce_status(const MachineOptions& options);
Result<int> quiesce_apply(const MachineOptions& options);
Result<int> quiesce_restore(const MachineOptions& options);

}  // namespace stab::client
