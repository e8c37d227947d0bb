// SPDX-License-Identifier: MIT
// Plan -> the ordered list of its trials. Pure: the same plan gives the same list on every machine, for ever
// (a golden test holds it).
//
// Order: randomized blocks. A block runs each (benchmark, cell, nested seed) once, in an order drawn from the plan's
// seed and the block's number. Warm-up blocks come first. A benchmark with fewer repetitions is absent from the later blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace stab::plan {

struct Trial {
  std::uint32_t position = 0;       // its place in the list, from 0
  std::uint32_t block = 0;          // warm-up blocks and measured blocks both count from 0
  bool warmup = false;
  std::uint32_t benchmark = 0;      // index into Plan::benchmarks
  std::uint32_t cell = 0;           // index into Expansion::cells
  std::vector<Level> levels;        // one a factor, in the plan's order; random factors have their drawn value
  std::uint64_t seed = 0;           // of this trial's own random choices
};

struct Expansion {
  std::vector<std::vector<Level>> cells;  // one level a treatment, in the order of treatments()
  std::vector<Trial> trials;
  std::uint32_t blocks = 0;               // measured ones, the longest benchmark's
};

// The factors that are treatments, as indices into plan.factors.
std::vector<std::size_t> treatments(const Plan& plan);

// The reader has refused plans that are too large, so this always succeeds.
Expansion expand(const Plan& plan);

// What the worker needs to build and to run a trial: every ${VARIABLE} replaced but OUT and DIR, which it knows itself.
struct Task {
  std::string build;                // empty: nothing to build
  std::vector<std::string> run;
  Variables env;
  bool aslr = false;
  std::uint64_t env_bytes = 0;      // added to the environment's fixed size
};
Task resolve(const Plan& plan, const Trial& trial);

// The text with each ${NAME} replaced, in one pass; names that are not in `variables` stay as they are. $$ is a $.
std::string substitute(std::string_view text, const Variables& variables);

// The NAMEs of all ${NAME} in the text.
std::vector<std::string> names_in(std::string_view text);

// Whether the factor's levels change the build of this benchmark (not only how it is run).
bool acts_on_build(const Plan& plan, const Benchmark& benchmark, const Factor& factor);

}  // namespace stab::plan
