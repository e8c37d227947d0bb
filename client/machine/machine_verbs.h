// SPDX-License-Identifier: MIT
// What stabctl does about the machine that it runs on. No daemon needed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace stab::client {

struct MachineOptions {
  std::vector<std::string> knobs;  // none: the standard ones
  unsigned trial_cpus = 1;
  bool strict = false;  // apply: all or nothing
  bool json = false;
  std::vector<std::string> programs{};  // doctor: what of these can be random
  std::string root;                     // stands before /proc and /sys
  std::string log;                      // "": that of the machine
};

struct CounterOptions {
  std::string pattern;  // part of a name, or with * and ?; "": all, in few words
  bool json = false;
};
// What each trial can count on this machine.
Result<int> counters(const CounterOptions& options);

struct CompilerOptions {
  std::optional<std::string>
      added{};  // a clang that gets a pass; nothing: list those that have one
  bool json = false;
};
// Asks szc, which knows the compilers.
Result<int> compilers(const CompilerOptions& options);

Result<int> doctor(const MachineOptions& options);
Result<int> quiesce_status(const MachineOptions& options);
Result<int> quiesce_apply(const MachineOptions& options);
Result<int> quiesce_restore(const MachineOptions& options);

}  // namespace stab::client
