// SPDX-License-Identifier: MIT
// `stabctl ab`: two or more versions of one thing, measured against each other without a plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/exit_code.h"
#include "client/follow.h"

namespace stab::client::ab {

// Whether blocks of the heap lie at random places.
enum class Heap {
  where_possible,  // if that works with all versions
  always,          // else it is an error
  never,
};

// Whether stack frames have pads of random sizes.
enum class Pads {
  where_possible,  // where szc built all versions
  always,          // else it is an error
  never,
};

struct AbOptions {
  std::vector<std::string> programs;  // the versions; empty: `words` are, as commands of /bin/sh
  std::vector<std::string> words;     // with programs: what each gets as its arguments
  std::string build;                  // not empty: `words` are revisions, built so
  std::string run;                    // and run so
  std::string prepare;                // for /bin/sh, before each run of each
  std::string cleanup;                // and after it
  std::vector<std::string> same;      // files that all of them have from the last one
  std::vector<std::string> env;       // NAME, whose value is ours, or NAME=VALUE
  std::string budget = "5min";
  std::string margin = "1%";  // the smallest change that matters
  std::string response = "wall";
  std::string exit_codes = "0";  // that are right, as in "0,1"
  std::string cpus;              // that trials run on, as in "1" or "2-3"; "": any one
  std::int64_t seed = 1;
  Heap heap = Heap::where_possible;
  Pads pads = Pads::where_possible;
  bool control = true;  // the first version is measured against itself, too
  std::string state_directory;
  std::string save;  // where the plan goes; "": nowhere
  std::string html;  // file for the report as a page; "": none
  bool json = false;
  bool markdown = false;  // in place of the report
  bool full = false;
  FailOn fail_on{};
  Follower follow{};  // as in RunOptions
};

Result<int> compare_versions(const AbOptions& options);

}  // namespace stab::client::ab
