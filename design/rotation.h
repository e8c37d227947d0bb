// SPDX-License-Identifier: MIT
// Sets of events that take turns over the blocks (`measure.rotate`), so that no two of them share
// the CPU's counters. All cells of a block count the same set.
//
// Invariants
//  T1  Blocks form runs of as many consecutive blocks as there are sets. Each run has each set
//      once, in an order drawn from the plan's seed. So among any number of first blocks, the
//      counts of two sets differ by at most one.
//  T2  Warm-up blocks have runs of their own, so that their number does not change the measured
//      blocks.
//  T3  With several machines, a round of blocks, one on each machine, takes the place of a block: so
//      each machine counts all sets equally often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace stab::plan {

// The set that a block counts, as an index into Plan::rotated, which must not be empty.
std::uint32_t set_of(const Plan& plan, std::uint32_t block, bool warmup);

// The number of blocks, among the first `blocks` measured ones, that count the set.
std::uint32_t blocks_of_set(const Plan& plan, std::uint32_t set, std::uint32_t blocks);

// Tells in which blocks a number is measured. The number is a response, an event, or a measure of
// the plan.
class Turns {
 public:
  Turns(const Plan& plan, const std::string& name);

  // Whether some blocks lack the number. If not, every set and every block has it.
  [[nodiscard]] bool takes_turns() const { return takes_turns_; }
  [[nodiscard]] bool in_set(std::uint32_t set) const { return !takes_turns_ || sets_[set]; }
  [[nodiscard]] bool in_no_set() const;
  // Whether this measured block has the number.
  [[nodiscard]] bool in_block(std::uint32_t block) const;
  // How many of the first `blocks` measured blocks have the number.
  [[nodiscard]] std::uint32_t among(std::uint32_t blocks) const;

 private:
  const Plan& plan_;  // must outlive this object
  bool takes_turns_ = false;
  std::vector<bool> sets_;  // which sets have the number
};

// The number of the benchmark's measured blocks that have the response.
std::uint32_t compared_blocks(const Plan& plan, const Benchmark& benchmark);

// Why the plan cannot compare a response that some of its blocks lack; "" if it can.
std::string_view why_not_by_turns(const Plan& plan);

}  // namespace stab::plan
