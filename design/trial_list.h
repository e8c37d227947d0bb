// SPDX-License-Identifier: MIT
// Expands a plan into the ordered list of its trials, and says which block counts which events.
// Pure: the same plan gives the same list on every machine and in every version (a golden test
// checks it).
//
// Order: randomized blocks. A block runs each (benchmark, cell, nested seed) once, in an order
// drawn from the plan's seed and the block's number. Warm-up blocks come first. A benchmark with
// fewer repetitions is absent from the later blocks. Some blocks also have plain trials (P1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace stab::plan {

// The levels of an expansion have names and numbers, but no variables. Variables are only in the
// plan.
struct Trial {
  std::uint32_t position = 0;  // its place in the list, from 0
  std::uint32_t block = 0;     // warm-up blocks and measured blocks both count from 0
  bool warmup = false;
  std::uint32_t benchmark = 0;  // index into Plan::benchmarks
  std::uint32_t cell = 0;       // index into Expansion::cells
  // One level per factor, in the plan's order. The level of a random factor is the drawn value.
  std::vector<Level> levels;
  std::uint64_t seed = 0;  // for this trial's own random choices
  // The set of Plan::rotated that the trial's block counts (see set_of()); nullopt if sets are not
  // rotated.
  std::optional<std::uint32_t> set{};
  bool plain = false;  // runs without random layouts (P1)
};

// The list of trials. Even a million trials take no memory: a block is drawn when one of its trials
// is accessed, and only the last block is kept.
class Trials {
 public:
  class Iterator;

  Trials() = default;
  explicit Trials(const Plan& plan);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Trial operator[](std::size_t position) const;
  [[nodiscard]] Trial at(std::size_t position) const;  // throws std::out_of_range
  // The number of trials in a measured block of the plan.
  [[nodiscard]] std::size_t in_block(std::uint32_t block) const;
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;

 private:
  class Blocks;
  struct Drawn;
  std::shared_ptr<const Blocks> blocks_;
  mutable std::shared_ptr<const Drawn> drawn_;
  std::size_t size_ = 0;
};

class Trials::Iterator {
 public:
  using value_type = Trial;
  using difference_type = std::ptrdiff_t;

  Iterator() = default;
  Iterator(const Trials* trials, std::size_t position) : trials_(trials), position_(position) {}
  Trial operator*() const { return (*trials_)[position_]; }
  Iterator& operator++() {
    ++position_;
    return *this;
  }
  Iterator operator++(int) { return {trials_, position_++}; }
  bool operator==(const Iterator& other) const { return position_ == other.position_; }

 private:
  const Trials* trials_ = nullptr;
  std::size_t position_ = 0;
};

struct Expansion {
  std::vector<std::vector<Level>> cells;  // one level per treatment, in the order of treatments()
  Trials trials;
  std::uint32_t blocks = 0;  // measured blocks of the benchmark that has most
};

// The machine on which a block runs, from 0; all of a plan without several machines. Each round of
// blocks, one for each machine, is dealt out in an order drawn from the plan's seed.
std::uint32_t machine_of(const Plan& plan, bool warmup, std::uint32_t block);

// The factors that are treatments, as indices into plan.factors.
std::vector<std::size_t> treatments(const Plan& plan);

// The reader has refused plans that are too large, so this always succeeds.
Expansion expand(const Plan& plan);

// The number of trials that expand() gives, without drawing them.
std::size_t count_trials(const Plan& plan);

// The smallest possible number of trials; lower than count_trials() if the design may stop early.
std::size_t fewest_trials(const Plan& plan);

// Plain trials (`analysis.cost`): in some blocks, a benchmark runs its first cell twice, the second
// time without anything that our runtime or libstabheap.so places at random. The difference between
// the two trials is what random layouts cost. No comparison of cells uses plain trials.
//
// Invariants
//  P1  Of each five consecutive measured blocks of a benchmark, one has a plain trial, drawn from
//      the plan's seed. If fewer than five blocks are left at the end of the plan, they have none,
//      so at most a fifth of the planned blocks have plain trials.
//  P2  Warm-up blocks have none.
//  P3  With several machines, a round of blocks, one on each machine, takes the place of a block.

inline constexpr std::uint32_t blocks_for_plain = 5;
// With fewer plain trials of a benchmark, their cost has no interval.
inline constexpr std::uint32_t least_plain_trials = 4;

// Why the plan can't have plain trials; "" if it can.
std::string why_no_plain_trials(const Plan& plan);

// The stored levels of a plain trial have this name and level instead of the treatments. A factor's
// name has no hyphen.
inline constexpr const char* plain_column = "random-layouts";
inline constexpr const char* plain_level = "off";

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

// The set that a block counts, as an index into Plan::rotated, which must not be empty.
std::uint32_t set_of(const Plan& plan, std::uint32_t block, bool warmup);

// The number of blocks, among the first `blocks` measured ones, that count the set.
std::uint32_t blocks_of_set(const Plan& plan, std::uint32_t set, std::uint32_t blocks);

// Tells in which blocks a number is measured. The number is a response, an event, or a measure of
// the plan.
class BlocksWithNumber {
 public:
  BlocksWithNumber(const Plan& plan, const std::string& name);

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
