// SPDX-License-Identifier: MIT
// Finds out how to run a stored trial again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "protocol/run.h"
#include "store/reader.h"

namespace stab::results {

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
