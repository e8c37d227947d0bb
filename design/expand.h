// SPDX-License-Identifier: MIT
// Plan -> the ordered list of its trials. Pure: the same plan gives the same list on every machine,
// for ever (a golden test holds it).
//
// Order: randomized blocks. A block runs each (benchmark, cell, nested seed) once, in an order
// drawn from the plan's seed and the block's number. Warm-up blocks come first. A benchmark with
// fewer repetitions is absent from the later blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace stab::plan {

// Levels of an expansion have names and numbers, no variables: those are in the plan, once.
struct Trial {
  std::uint32_t position = 0;  // its place in the list, from 0
  std::uint32_t block = 0;     // warm-up blocks and measured blocks both count from 0
  bool warmup = false;
  std::uint32_t benchmark = 0;  // index into Plan::benchmarks
  std::uint32_t cell = 0;       // index into Expansion::cells
  std::vector<Level> levels;    // one a factor, in the plan's order; a random factor's drawn value
  std::uint64_t seed = 0;       // of this trial's own random choices
};

struct Expansion {
  std::vector<std::vector<Level>> cells;  // one level a treatment, in the order of treatments()
  std::vector<Trial> trials;
  std::uint32_t blocks = 0;  // measured ones, the longest benchmark's
};

// The factors that are treatments, as indices into plan.factors.
std::vector<std::size_t> treatments(const Plan& plan);

// The reader has refused plans that are too large, so this always succeeds.
Expansion expand(const Plan& plan);

// How many trials expand() gives, without making them.
std::size_t count_trials(const Plan& plan);

// How many trials there are at least: fewer than all where the design may stop early.
std::size_t fewest_trials(const Plan& plan, const Expansion& expansion);

}  // namespace stab::plan
