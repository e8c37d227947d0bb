// SPDX-License-Identifier: MIT
// The distinct builds of an experiment, and whether they are as different as the plan says. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "counters/reading.h"
#include "design/expand.h"
#include "plan/plan.h"

namespace stab::daemon {

struct BuildSlot {
  std::uint32_t benchmark = 0;
  std::string command;     // with the plan's variables replaced; tells builds of a benchmark apart
  std::string revision{};  // whose files it builds; "": those of the plan's folder
  std::vector<std::string> levels;  // one a factor; "" for factors that do not act on this build
  // Known once it has been built.
  std::string key;
  std::string out;
  std::string directory;
  std::string binary_sha256;
  std::string compilers{};
  std::string in_place{};  // why its functions cannot move
  bool usable = false;
  bool cached = false;  // nothing was built
  std::chrono::nanoseconds took{0};
  std::vector<counters::Reading> readings{};  // that each trial of it has
};

struct Builds {
  std::vector<BuildSlot> slots;        // in the order in which trials need them
  std::vector<std::int64_t> of_trial;  // slot of each position; -1: the benchmark is not built
};

Builds collect_builds(const plan::Plan& plan, const plan::Expansion& expansion);

// Why the plan cannot be run: a build factor does nothing in any benchmark (results/identical.h).
// Looks at usable slots only.
std::optional<std::string> find_identical(const plan::Plan& plan, const Builds& builds);

// Why the plan cannot be run: a trial of this expansion is to run a built program with a runtime, and
// the program's file rules that out. Looks at usable slots only.
std::optional<std::string> find_in_place(const plan::Plan& plan, const plan::Expansion& expansion,
                                         const Builds& builds);

}  // namespace stab::daemon
