// SPDX-License-Identifier: MIT
// Makes the request that tells a worker how to run one trial of a plan, or a stored trial again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "design/trial_list.h"
#include "plan/plan.h"
#include "protocol/run.h"
#include "store/reader.h"

namespace stab::results {

// The paths are "" if the benchmark has no build.
struct BuiltPaths {
  std::string out{};   // ${OUT}
  std::string tree{};  // ${DIR}
  std::vector<counters::Reading> readings{};
};

// `directory`: the plan's directory.
protocol::RunRequest run_request(const plan::Plan& plan, const plan::Trial& trial,
                                 const std::string& directory, const BuiltPaths& built);

// Checks that each trial, build and wait of the plan ends within `turn`; the error says what to
// change. A turn of 0 means that there is no limit. Early versions accepted simulated trials whose
// own timeout fits, so stabd still runs them if they were submitted (`is_new` is false).
Result<void> fits_a_turn(const plan::Plan& plan, std::chrono::nanoseconds turn, bool is_new = true);

struct WhichTrial {
  std::uint32_t position = 0;
  std::optional<std::uint32_t> attempt{};  // nothing means the last attempt
};

Result<store::Trial> find_trial(store::Reader& store, const store::Experiment& experiment,
                                WhichTrial which);

// `cache`: the folder of the experiment's builds. Fails if the attempt never ran.
Result<protocol::ReplayReply> answer_replay(store::Reader& store,
                                            const store::Experiment& experiment,
                                            const std::string& cache, WhichTrial which);

}  // namespace stab::results
