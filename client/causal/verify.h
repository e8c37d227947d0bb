// SPDX-License-Identifier: MIT
// 'stabctl causal verify': what a causal profile predicted of a change, beside what the change gave.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "client/verbs.h"
#include "stats/causal/analyse.h"

namespace stab::client::causal {

struct VerifyOptions {
  std::int64_t id = 0;          // of an experiment whose plan is causal
  std::string plan{};           // that measures the change: one comparison
  std::string cell{};           // of the profile; "": there is one
  std::string line{};           // that was changed; "": the one that the profile names
  std::string speedup = "25%";  // how much less time the line takes after the change
};

// Runs the plan as 'stabctl run' does, or goes on with it, and prints one sentence.
Result<int> verify(const Common& common, const VerifyOptions& options);

// How much more was gained than predicted. The two gains are independent of each other.
stats::causal::Gain difference(const stats::causal::Gain& predicted,
                               const stats::causal::Gain& measured);

}  // namespace stab::client::causal
