// SPDX-License-Identifier: MIT
// The versions that are compared, and the plan that compares them.
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
#include "report/model.h"
#include "results/heap_layer.h"

namespace stab::client::ab {

struct Version {
  std::string name;  // for reports, and valid in a plan
  std::string text;  // the program's path, the command, or the folder
  std::string said;  // what the user called it
  bool is_working_tree = false;
  std::string copy{};  // of revisions: the top of the copy that is built; `text` is in it
};

// Adds slashes until all paths are as long as the longest, because a longer name in the arguments
// would move the stack of that version only.
Result<std::vector<Version>> versions_of_programs(const std::vector<std::string>& paths);
Result<std::vector<Version>> versions_of_commands(const std::vector<std::string>& commands);
struct Revision {
  std::string said;
  std::string commit;  // "": the working tree
  std::string folder;  // where it is built and run; all names have the same length
};
// "main" becomes "main-1a2b3c4d".
Result<std::vector<Version>> versions_of_revisions(const std::vector<Revision>& revisions);

enum class Kind { programs, commands, folders };

// A shared library that was loaded from outside of a version's copy, although the build made one of
// the same name.
struct ForeignLibrary {
  std::string version;
  std::string library;  // "libbz2.so.1.0"
  std::string program;  // the path of the program that loaded it
  std::string loaded;   // the path of the file that it loaded
};

// These rounds always run, because with fewer of them hardly any interval is useful.
inline constexpr std::uint64_t fewest_rounds = 10;

struct Comparison {
  std::vector<Version> versions;  // the others are compared with the first
  Kind kind = Kind::programs;
  std::vector<std::string> arguments;  // of programs
  std::string command;                 // of folders: runs in each of them, for /bin/sh
  std::string prepare;                 // before each trial, where it runs, for /bin/sh; "": nothing
  std::string cleanup;                 // the same after each trial
  std::map<std::string, std::string> env;
  std::string margin;
  std::string response = "wall";
  plan::Check check{};        // the exit codes that mean success
  std::vector<unsigned> cpu;  // on which trials run; empty: any
  std::string machines{};     // the plan's table [machines]; "": this machine
  std::string compiler{};     // of folders: the compiler that szc calls; "": not known
  std::int64_t seed = 1;
  Heap wanted_heap = Heap::where_possible;
  bool heap = false;            // heap blocks are at random addresses
  std::string heap_preloads{};  // if `heap`: for LD_PRELOAD of what a shell starts
  std::string why_no_heap{};    // if not `heap`
  results::HeapChange heap_changes{};
  std::optional<report::HeapCost> heap_cost{};  // if it was measured
  Pads wanted_pads = Pads::where_possible;
  bool pads = false;                                // stack frames have pads of random sizes
  std::string why_no_pads{};                        // if not `pads`; "": the user need not know
  std::vector<ForeignLibrary> foreign_libraries{};  // in the first runs
  bool control = false;
  bool cost = false;         // plain trials of the first version show what random layouts cost
  std::uint64_t blocks = 0;  // at most
  std::chrono::nanoseconds time{0};  // no block may end later than this; 0: no limit
  std::chrono::nanoseconds timeout{0};
};

// The words of reports beside random heap blocks: "costs +0.4 % of CPU time; ...", or the change
// that they cause. The CPU time stands there once. "" if heap blocks are not random, or the cost is not known.
std::string heap_remark(const Comparison& comparison);

// Whether trials have random layouts beyond the addresses that the kernel chooses: we place
// functions, frames or heap blocks, which may cost time. The first runs must have been made.
bool has_own_layouts(const Comparison& comparison);

// The name for the second measurement of the first version.
std::string name_of_control(const Comparison& comparison);

// The command that runs this version.
std::vector<std::string> command_of(const Comparison& comparison, const Version& version);

// The words of a shell command, without quotes. Words with quoted spaces are split.
std::vector<std::string> words_in(const std::string& command);

// The programs that words of a shell command name, by word. A word with a slash is a path relative
// to `directory`, and a shell finds any other word through PATH. Shell builtins and arguments that
// have a program's name count, too.
std::map<std::string, std::string> programs_in(const Comparison& comparison,
                                               const std::string& command,
                                               const std::string& directory);

// `prepare` or `cleanup` for a version in this folder, for /bin/sh. The name of the folder must not
// contain a quotation mark.
std::string step_of(const Comparison& comparison, const std::string& folder,
                    const std::string& step);

// Whether the first version runs beside each trial, because the response needs that.
bool runs_beside(const Comparison& comparison);

// Whether each trial has this number without counting an event.
bool is_response(std::string_view name);

// The complete plan, which `stabctl run` also accepts.
std::string plan_of(const Comparison& comparison);

}  // namespace stab::client::ab
