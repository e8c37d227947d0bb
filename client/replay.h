// SPDX-License-Identifier: MIT
// Runs a stored trial again in the foreground, in the same way as before, for debuggers and
// profilers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/verbs.h"

namespace stab::client {

struct ReplayOptions {
  std::int64_t id = 0;
  std::uint32_t position = 0;
  std::optional<std::uint32_t> attempt{};  // nothing means the last attempt
  bool print = false;                      // print the command instead of running it
  std::vector<std::string> before{};       // words before the command: {"perf", "stat"}
};

// Replaces this process with the trial's program, with the trial's stdin, variables, seed and
// address space. Returns only if that fails or if it only prints.
Result<int> replay(const Common& common, const ReplayOptions& options);

}  // namespace stab::client
