// SPDX-License-Identifier: MIT
// Runs a stored trial again, in the foreground, as it was run: for debuggers and profilers.
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
  std::optional<std::uint32_t> attempt{};  // nothing: the last one
  bool print = false;                      // the command, and nothing is run
  std::vector<std::string> before{};       // words before the command: {"perf", "stat"}
};

// This process becomes the trial's program, with its stdin, variables, seed and address space; it
// returns if it cannot, or if it only prints.
Result<int> replay(const Common& common, const ReplayOptions& options);

}  // namespace stab::client
