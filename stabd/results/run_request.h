// SPDX-License-Identifier: MIT
// Out of a plan, what a worker runs for one of its trials.
#pragma once

#include <string>
#include <vector>

#include "design/expand.h"
#include "plan/plan.h"
#include "stabd/protocol/run.h"

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

}  // namespace stab::results
