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

// How many trials there are at least: fewer than all where the design may stop early.
std::size_t fewest_trials(const Plan& plan, const Expansion& expansion);

// What a trial must have for its row to mean what the plan says.
enum class Needs {
  nothing,     // programs without the runtime just run
  runtime,     // the program obeys the options
  randomized,  // and something of it is placed at random
};

// What the worker needs to build and to run a trial. Every ${VARIABLE} is replaced but OUT, DIR and
// SRC, which the worker knows; the texts are templates still ($$ is a $), so each goes through
// substitute() once more, with those three.
//
// link_order appends to LDFLAGS what makes lld shuffle the sections, in quotes for the shell, or
// szc's own flag if the build names szc; link_padding appends a flag that only szc knows. Where one
// command compiles and links, each function gets its own section; where objects are compiled
// separately by another compiler than szc, the user puts -ffunction-sections and -fdata-sections
// into CFLAGS.
struct Task {
  std::string build;  // empty: nothing to build. Equal for trials that differ only in how they run
  std::vector<std::string> run;
  Variables env;
  std::optional<std::string> stdin_file;
  bool aslr = false;
  std::uint64_t env_bytes = 0;  // added to the environment's fixed size
  Variables options;            // of the runtime that szc links in; "seed" is always there
  Needs needs = Needs::nothing;
};
Task resolve(const Plan& plan, const Trial& trial);

// The text with each ${NAME} replaced, in one pass; names that are not in `variables` stay as they
// are. $$ is a $. What is not exactly ${NAME}, as in ${NAME:-x} or $NAME, belongs to the shell.
std::string substitute(std::string_view text, const Variables& variables);

// The NAMEs of all ${NAME} in the text, in their order.
std::vector<std::string> names_in(std::string_view text);

// Whether a word of the command is szc or szc++, with or without a folder.
bool names_szc(std::string_view command);

// Whether the factor's levels change the build of this benchmark (not only how it is run).
bool acts_on_build(const Plan& plan, const Benchmark& benchmark, const Factor& factor);

}  // namespace stab::plan
