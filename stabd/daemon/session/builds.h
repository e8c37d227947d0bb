// SPDX-License-Identifier: MIT
// Collects the distinct builds of an experiment, and checks that they differ as the plan says.
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "counters/recorded.h"
#include "design/expand.h"
#include "plan/plan.h"

namespace stab::daemon {

struct BuildSlot {
  std::uint32_t benchmark = 0;
  // With the plan's variables replaced; it identifies a build within its benchmark.
  std::string command;
  std::string revision{};  // the revision to build; "" builds the files in the plan's folder
  // One for each factor; "" for factors that don't affect this build.
  std::vector<std::string> levels;
  // The fields below are known once the build has ended.
  std::string key;
  std::string out;
  std::string directory;
  std::string binary_sha256;
  std::string compilers{};
  std::string in_place{};  // why its functions can't move
  bool usable = false;
  bool cached = false;  // nothing was built
  std::chrono::nanoseconds took{0};
  std::vector<counters::Reading> readings{};  // readings that each trial of this build gets
};

struct Builds {
  std::vector<BuildSlot> slots;  // in the order in which trials need them
  // The slot of each position; -1 if the benchmark has no build.
  std::vector<std::int64_t> of_trial;
};

Builds collect_builds(const plan::Plan& plan, const plan::Expansion& expansion);

// Returns why the plan can't be run if a build factor changes no benchmark (results/identical.h).
// Looks at usable slots only.
std::optional<std::string> find_identical(const plan::Plan& plan, const Builds& builds);

// Returns why the plan can't be run if a trial needs the runtime in a built program, but the
// program's functions can't move. Looks at usable slots only.
std::optional<std::string> find_in_place(const plan::Plan& plan, const plan::Expansion& expansion,
                                         const Builds& builds);

}  // namespace stab::daemon
