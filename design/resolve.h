// SPDX-License-Identifier: MIT
// What the worker is asked to do for a trial.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "design/expand.h"
#include "plan/plan.h"

namespace stab::plan {

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
// szc's own flag if the build names szc; link_padding appends szc's own flag, or the one of lld 22 if the
// build names another compiler only. Where one
// command compiles and links, each function gets its own section; where objects are compiled
// separately by another compiler than szc, the user puts -ffunction-sections and -fdata-sections
// into CFLAGS.
struct Task {
  // Empty: nothing to build. Equal for trials that differ only in how they run; of a revision it
  // begins with a comment that names it, so that no two of them have the same.
  std::string build;
  std::string revision;  // whose files are built; empty: those of the plan's folder as they are
  std::vector<std::string> run;
  Variables env;
  std::optional<std::string> stdin_file;
  std::optional<std::string> prepare;
  std::optional<std::string> cleanup;
  bool aslr = false;
  std::uint64_t env_bytes = 0;                  // added to the environment's fixed size
  std::chrono::nanoseconds arrival_speedup{0};  // of the causal profiler
  Variables options;  // of the runtime that szc links in; "seed" is always there
  // Options that no trial must have: the program does not obey them, and runs.
  std::vector<std::string> by_default{};
  Needs needs = Needs::nothing;
};
Task resolve(const Plan& plan, const Trial& trial);

// Where Debian has the ld.lld that knows the flag.
inline constexpr std::string_view padding_lld_folder = "/usr/lib/llvm-22/bin";
inline constexpr std::string_view padding_lld_flag = "-Wl,--randomize-section-padding";

// Whether a word of the command is szc or szc++, with or without a folder.
bool names_szc(std::string_view command);

// Whether the factor's levels change the build of this benchmark (not only how it is run).
bool acts_on_build(const Plan& plan, const Benchmark& benchmark, const Factor& factor);

}  // namespace stab::plan
