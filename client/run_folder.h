// SPDX-License-Identifier: MIT
// The folder in which `stabctl run` keeps its database, and where the same command finds it again.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace stab::client {

struct RunFolder {
  std::string path;
  Fd claim;  // while it is open, no other call considers the run interrupted
};

struct RunOf {
  std::string experiment;  // the experiment's name
  std::string plan;        // the plan's text
  std::string directory;   // the plan's folder
};

// Returns `wanted` unless it is empty. Otherwise, unless `again` is set, returns the user's newest
// folder in which a run of this very plan was interrupted and which no process uses. Otherwise
// creates a folder.
Result<RunFolder> choose_folder(const std::string& wanted, const RunOf& run, bool again);

// The folder that contains the folders of runs, except runs for which the user names a folder.
std::string folder_of_runs();

// Whether the same command would continue the run in this folder, if no process uses it.
bool is_unfinished(const std::string& folder, const RunOf& run);

// The file in a run's folder that says how `stabctl ab` began the run; removed when the run ends.
inline constexpr const char* ab_mark = "ab.json";

// Whether a stabd works in the folder now.
bool is_in_use(const std::string& folder);

// Folders below folder_of_runs() whose run was interrupted and that no process uses, newest first.
std::vector<std::string> interrupted_runs();

// Records that the run in the folder has ended, so that the same command begins a new one.
void mark_ended(const RunFolder& folder);

}  // namespace stab::client
