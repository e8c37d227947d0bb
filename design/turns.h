// SPDX-License-Identifier: MIT
// Sets of events that take turns over the blocks (`measure.rotate`), so that no two of them share the
// CPU's counters. A block counts one set, the same in all of its cells.
//
// Invariants
//  T1  Each run of as many consecutive blocks as there are sets has each set once, in an order drawn
//      from the plan's seed: of the first blocks, however many, no set has more than one more than
//      another.
//  T2  Warm-up blocks have runs of their own, so that their number does not change the measured ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace stab::plan {

// The set that a block counts, an index into Plan::rotated, which has some.
std::uint32_t set_of(const Plan& plan, std::uint32_t block, bool warmup);

// How many of so many first measured blocks count the set.
std::uint32_t blocks_of_set(const Plan& plan, std::uint32_t set, std::uint32_t blocks);

// In which blocks a number is measured: a response, an event, or a measure of the plan.
class Turns {
 public:
  Turns(const Plan& plan, const std::string& name);

  // Some blocks do not have it. All answers are yes and all blocks otherwise.
  [[nodiscard]] bool takes_turns() const { return takes_turns_; }
  [[nodiscard]] bool in_set(std::uint32_t set) const { return !takes_turns_ || sets_[set]; }
  [[nodiscard]] bool in_no_set() const;
  // Measured blocks.
  [[nodiscard]] bool in_block(std::uint32_t block) const;
  [[nodiscard]] std::uint32_t among(std::uint32_t blocks) const;  // of so many first ones

 private:
  const Plan& plan_;  // outlives this
  bool takes_turns_ = false;
  std::vector<bool> sets_;  // that have it
};

// How many of the benchmark's measured blocks have the response.
std::uint32_t compared_blocks(const Plan& plan, const Benchmark& benchmark);

// Why a plan of this kind cannot compare what some of its blocks do not have; "" if it can.
std::string_view why_not_by_turns(const Plan& plan);

}  // namespace stab::plan
