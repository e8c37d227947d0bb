// SPDX-License-Identifier: MIT
// `stabctl ab`: measures two or more versions of one thing against each other without a plan.
// `stabctl demo`: compares two link orders of one program, both in fixed and in random layouts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/exit_code.h"
#include "client/follow.h"

namespace stab::client::ab {

// Whether heap blocks are at random addresses.
enum class Heap {
  where_possible,  // if that works with all versions
  always,          // an error if it does not work
  never,
};

// Whether stack frames have pads of random sizes.
enum class Pads {
  where_possible,  // if szc built all versions
  always,          // an error if it does not work
  never,
};

struct AbOptions {
  std::vector<std::string> programs;  // the versions; empty: `words` are commands for /bin/sh
  std::vector<std::string> words;     // with `programs`: the arguments of each
  std::string build;                  // not empty: `words` are revisions, built by this command
  std::string run;                    // with `build`: the command that is measured
  std::string prepare;                // for /bin/sh, before each run of a version
  std::string cleanup;                // for /bin/sh, after each run of a version
  std::vector<std::string> same;      // files that all revisions get from the last one
  std::vector<std::string> env;       // NAME, with the value of our variable, or NAME=VALUE
  std::string budget = "5min";
  std::string margin = "1%";  // the smallest change that matters
  std::string response = "wall";
  std::string exit_codes = "0";  // that mean success, as in "0,1"
  std::string cpus;              // on which trials run, as in "1" or "2-3"; "": any
  std::string machines{};        // nodes of a cluster, as in machines_table(); "": this machine
  std::int64_t seed = 1;
  Heap heap = Heap::where_possible;
  Pads pads = Pads::where_possible;
  bool control = true;  // also measure the first version against itself
  bool cost = true;     // also measure what random layouts cost
  std::string state_directory;
  std::string save;  // file for the plan; "": no file
  std::string html;  // file for the report as a page; "": no page
  bool json = false;
  bool markdown = false;  // instead of the report
  bool full = false;
  FailOn fail_on{};
  Follower follow{};  // as in RunOptions
};

// Has the first version run beside each trial.
void run_beside(AbOptions& options);

Result<int> compare_versions(const AbOptions& options);

// The options of `stabctl demo`.
struct DemoOptions {
  std::uint64_t seed = 1;
  bool json = false;
};

// The measurements of `stabctl demo`: logarithms of CPU times, one of each round. The first vectors
// are from fixed layouts, the second ones from random layouts.
struct DemoRuns {
  std::size_t fast = 0;  // the link orders, counted from 0; `slow` was the slower one at first
  std::size_t slow = 1;
  std::array<std::vector<double>, 2> fast_runs{};
  std::array<std::vector<double>, 2> slow_runs{};
};

// The text or the JSON that the user sees.
std::string demo_text(const DemoRuns& runs);
std::string demo_json(const DemoRuns& runs, std::uint64_t seed);

// Takes about 20 seconds. Prints what this machine shows and returns 0, even if the orders do not
// differ. Fails if szc can't build the program, or the program can't run.
Result<int> demonstrate(const DemoOptions& options);

}  // namespace stab::client::ab
