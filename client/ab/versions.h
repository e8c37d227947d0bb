// SPDX-License-Identifier: MIT
// What is compared, and the plan that compares it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "client/ab/ab.h"
#include "plan/plan.h"

namespace stab::client::ab {

struct Version {
  std::string name;  // as reports show it: one that a plan takes
  std::string text;  // the program's path, the command, or the folder
  std::string said;  // what the user called it
  bool is_working_tree = false;
};

// Their paths get as long as the longest, by slashes: a longer name in the arguments would move the
// stack of that version only.
Result<std::vector<Version>> versions_of_programs(const std::vector<std::string>& paths);
Result<std::vector<Version>> versions_of_commands(const std::vector<std::string>& commands);
struct Revision {
  std::string said;
  std::string commit;  // "": the working tree
  std::string folder;  // where it is built and run; the names of all are as long
};
// "main" becomes "main-1a2b3c4d".
Result<std::vector<Version>> versions_of_revisions(const std::vector<Revision>& revisions);

enum class Kind { programs, commands, folders };

// What drawing the places of small blocks costs: CPU time with the layer above the programs' own
// allocators, beside the time without.
struct HeapCost {
  double change = 0;            // 0.01: 1 % more
  std::optional<double> low{};  // the 95 % interval; nothing with too few pairs
  std::optional<double> high{};
  std::uint64_t pairs = 0;  // of runs
};

// "+0.4 % of CPU time (-0.2 to +1.1 %, 12 pairs of runs)".
std::string said(const HeapCost& cost);

// Rounds that are run whatever they take: with fewer, hardly anything has an interval that helps.
inline constexpr std::uint64_t fewest_rounds = 10;

struct Comparison {
  std::vector<Version> versions;  // the first is what the others are compared with
  Kind kind = Kind::programs;
  std::vector<std::string> arguments;  // of programs
  std::string command;                 // what runs in folders, for /bin/sh
  std::string prepare;                 // before each trial, where it runs, for /bin/sh; ""
  std::string cleanup;                 // after it
  std::map<std::string, std::string> env;
  std::string margin;
  std::string response = "wall";
  plan::Check check{};        // which exit codes are right
  std::vector<unsigned> cpu;  // that trials run on; empty: any one
  std::int64_t seed = 1;
  Heap wanted_heap = Heap::where_possible;
  bool heap = false;                    // blocks of the heap lie at random places
  std::string heap_library{};           // that what runs through a shell is preloaded with then
  std::string why_no_heap{};            // where they do not
  std::string heap_changes{};           // what the layer changes; "": nothing that matters
  std::optional<HeapCost> heap_cost{};  // where it was measured
  Pads wanted_pads = Pads::where_possible;
  bool pads = false;          // stack frames have pads of random sizes
  std::string why_no_pads{};  // where they do not; "": nobody need be told
  bool control = false;
  std::uint64_t blocks = 0;          // at most
  std::chrono::nanoseconds time{0};  // in which no block may end later; 0: any
  std::chrono::nanoseconds timeout{0};
};

// The first version once more.
std::string name_of_control(const Comparison& comparison);

// What runs for this version.
std::vector<std::string> command_of(const Comparison& comparison, const Version& version);

// A step of this version, for /bin/sh. A version's folder has no quotation mark.
std::string step_of(const Comparison& comparison, const std::string& folder,
                    const std::string& step);

// A number that each trial has without an event being counted.
bool is_response(std::string_view name);

// A whole plan, which `stabctl run` takes as well.
std::string plan_of(const Comparison& comparison);

}  // namespace stab::client::ab
