// SPDX-License-Identifier: MIT
// Turns a trial into a task for the worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "design/trial_list.h"
#include "plan/plan.h"

namespace stab::plan {

// The part of szc's runtime that a trial must use for its row to mean what the plan says.
enum class Needs {
  nothing,     // the program may lack the runtime
  runtime,     // the program obeys the options
  randomized,  // it also places something at random
};

// Everything that the worker needs to build and run a trial. All ${VARIABLES} are replaced except
// for OUT, DIR and SRC, which only the worker knows. So the texts are still templates ($$ is a $),
// and the worker passes each of them through substitute() with these three.
//
// link_order appends a flag to LDFLAGS: szc's own flag if the build names szc, or else quoted flags
// with which lld shuffles the sections, and does not order them by a profile. link_padding appends
// szc's own flag, or a flag of lld 22 if the build names only other compilers. If one command
// compiles and links, LDFLAGS also gives each function its own section. If another compiler than
// szc compiles the objects separately, the user has to put -ffunction-sections and -fdata-sections
// into CFLAGS.
struct Task {
  // The build command; empty if there is nothing to build. Trials that differ only in how they run
  // have equal commands. The command for a revision begins with a comment that names it, so that
  // different revisions have different commands.
  std::string build;
  std::string revision;  // the revision to build; empty: the files in the plan's folder
  std::vector<std::string> run;
  Variables env;
  std::optional<std::string> stdin_file;
  std::vector<std::string> beside;
  Variables beside_env;  // those of `env` that are the same in all trials
  std::optional<std::string> prepare;
  std::optional<std::string> cleanup;
  bool aslr = false;
  std::uint64_t env_bytes = 0;                  // added to the fixed size of the environment
  std::chrono::nanoseconds arrival_speedup{0};  // for the causal profiler
  Variables options;                            // for szc's runtime; always has "seed"
  // Options that stabd added by itself; a program that can't obey them runs without them.
  std::vector<std::string> by_default{};
  Needs needs = Needs::nothing;
};
Task resolve(const Plan& plan, const Trial& trial);

// The folder of Debian's ld.lld 22, which knows the flag.
inline constexpr std::string_view padding_lld_folder = "/usr/lib/llvm-22/bin";
inline constexpr std::string_view padding_lld_flag = "-Wl,--randomize-section-padding";

// Whether a word of the command is szc or szc++, with or without a folder.
bool names_szc(std::string_view command);

// Whether the factor changes how this benchmark is built, and not only how it runs.
bool acts_on_build(const Benchmark& benchmark, const Factor& factor);

// Whether the benchmark's run, env, stdin, prepare or cleanup uses a variable that the factor sets.
bool acts_on_run(const Benchmark& benchmark, const Factor& factor);

// Whether the benchmark's trials use files in the folder of its build: whether run, env, stdin,
// prepare, cleanup or causal.binary uses ${DIR}, directly or through a variable's value at any
// level.
bool uses_tree(const Plan& plan, const Benchmark& benchmark);

}  // namespace stab::plan
