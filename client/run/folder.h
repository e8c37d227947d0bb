// SPDX-License-Identifier: MIT
// Where `stabctl run` keeps its database, and how the same command finds it again.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace stab::client {

struct RunFolder {
  std::string path;
  Fd claim;  // while it is open no other call takes this folder for an interrupted run
};

struct RunOf {
  std::string experiment;  // its name
  std::string plan;        // its text
  std::string directory;   // the plan's
};

// `wanted` if it is not empty. Else the newest folder of the user's in which a run of this very plan
// was interrupted, unless it is to measure `again` or somebody is at it; else a new one.
Result<RunFolder> choose_folder(const std::string& wanted, const RunOf& run, bool again);

// Where the folders are if none is wanted.
std::string folder_of_runs();

// Whether the same command would go on with the run in there, if nobody is at it.
bool is_unfinished(const std::string& folder, const RunOf& run);

// The file in a run's folder that says how `stabctl ab` began it; there until the run has ended.
inline constexpr const char* ab_mark = "ab.json";

// Folders below folder_of_runs() whose run was interrupted and that nobody is at, the newest first.
std::vector<std::string> interrupted_runs();

// The run in there has come to its end: the same command begins a new one.
void mark_ended(const RunFolder& folder);

}  // namespace stab::client
