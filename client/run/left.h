// SPDX-License-Identifier: MIT
// Lists the runs in the folders that `stabctl run` and `stabctl ab` created.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace stab::client {

// An experiment, or a folder without a readable experiment.
struct LeftRun {
  std::string folder{};
  std::optional<std::int64_t> id{};  // absent: no experiment could be read
  std::string name{};
  std::string state{};  // as its row says
  std::string reason{};
  std::uint64_t trials = 0;             // of its plan
  std::optional<std::uint64_t> done{};  // trials that ended in any way; absent if damage hides it
  std::int64_t submitted_ns = 0;
  std::optional<std::int64_t> ended_ns{};
  bool running = false;               // a daemon is using it now
  bool goes_on = false;               // the command that began it would continue it
  std::optional<std::string> verb{};  // of that command, if goes_on: "run" or "ab"
  std::string problem{};              // why something is missing here; "": nothing is missing
};
BOOST_DESCRIBE_STRUCT(LeftRun, (),
                      (folder, id, name, state, reason, trials, done, submitted_ns, ended_ns,
                       running, goes_on, verb, problem))

// The runs in the folders below `runs`, oldest first. Empty if `runs` does not exist.
Result<std::vector<LeftRun>> left_runs(const std::string& runs);

}  // namespace stab::client
