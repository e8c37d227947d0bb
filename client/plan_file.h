// SPDX-License-Identifier: MIT
// A plan as the user names it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace stab::client {

struct PlanFile {
  std::string path;       // as the user wrote it, for messages
  std::string directory;  // absolute
  std::string
      text;  // with the commits of the revisions that it names, and what is random by default
  // What is checked out there in git; "": nothing.
  std::string branch{};
  std::string commit{};
};

// Looks for it, while this process has no children: git's end is the end of all of them.
void find_source(PlanFile& file);

// Words of `run` that a shell would take for itself, and that a program gets as arguments because no
// shell is there: a sentence a benchmark.
std::vector<std::string> shell_warnings(const plan::Plan& plan);
// The same on stderr, unless something else is wrong with the plan.
void tell_shell_warnings(const PlanFile& file);

// What `sources` names and the plan's folder does not have.
Result<void> check_sources(const plan::Plan& plan, const PlanFile& file);

// Says what is wrong with a missing, empty, binary or huge file.
Result<PlanFile> read_plan_file(const std::string& path);

}  // namespace stab::client
