// SPDX-License-Identifier: MIT
// 'stabctl causal verify': compares the gain that a causal profile predicted with the gain of the
// actual change.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "client/verbs.h"
#include "stats/causal/analyse.h"

namespace stab::client::causal {

struct VerifyOptions {
  std::int64_t id = 0;          // of an experiment whose plan is causal
  std::string plan{};           // the file of a plan that measures the change in one comparison
  std::string cell{};           // of the profile; "": it has only one
  std::string line{};           // the changed line; "": the first that helps, by the profile
  std::string speedup = "25%";  // how much less time the line takes after the change
};

// Runs or continues the plan as 'stabctl run' does, and prints one sentence.
Result<int> verify(const Common& common, const VerifyOptions& options);

// The measured gain minus the predicted gain. The two must be independent of each other.
stats::causal::Gain difference(const stats::causal::Gain& predicted,
                               const stats::causal::Gain& measured);

}  // namespace stab::client::causal
