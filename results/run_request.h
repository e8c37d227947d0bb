// SPDX-License-Identifier: MIT
// Out of a plan, what a worker runs for one of its trials.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "design/expand.h"
#include "plan/plan.h"
#include "protocol/run.h"

namespace stab::results {

// "" where the benchmark is not built.
struct BuiltPaths {
  std::string out{};   // ${OUT}
  std::string tree{};  // ${DIR}
  std::vector<counters::Reading> readings{};
};

// `directory`: the plan's.
protocol::RunRequest run_request(const plan::Plan& plan, const plan::Trial& trial,
                                 const std::string& directory, const BuiltPaths& built);

// Whether each trial, build and wait of the plan ends within this time, or what to change; 0: there is no limit.
Result<void> fits_a_turn(const plan::Plan& plan, std::chrono::nanoseconds turn);

}  // namespace stab::results
