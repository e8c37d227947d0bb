// SPDX-License-Identifier: MIT
// The runs that `stabctl run` has left in its folders.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace stab::client {

// An experiment, or a folder whose database cannot tell of one.
struct LeftRun {
  std::string folder{};
  std::optional<std::int64_t> id{};  // absent: there is no experiment that could be read
  std::string name{};
  std::string state{};  // as its row says
  std::string reason{};
  std::uint64_t trials = 0;             // of its plan
  std::optional<std::uint64_t> done{};  // have ended, however; absent if damage hides it
  std::int64_t submitted_ns = 0;
  std::optional<std::int64_t> ended_ns{};
  bool running = false;               // somebody is at it now
  bool goes_on = false;               // the command that began it goes on with it
  std::optional<std::string> verb{};  // then: "run" or "ab"
  std::string problem{};              // why something is missing here; "": nothing is
};
BOOST_DESCRIBE_STRUCT(LeftRun, (),
                      (folder, id, name, state, reason, trials, done, submitted_ns, ended_ns,
                       running, goes_on, verb, problem))

// Those in the folders below `runs`, oldest first. A folder that is not there has none.
Result<std::vector<LeftRun>> left_runs(const std::string& runs);

}  // namespace stab::client
