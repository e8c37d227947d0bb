// SPDX-License-Identifier: MIT
// The file of a plan, as the user names it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace stab::client {

struct PlanFile {
  std::string path;       // as the user wrote it, for messages
  std::string directory;  // absolute
  std::string text;  // revisions are replaced by their commits, and the random defaults are added
  // The branch and commit that git has checked out in `directory`; "": none.
  std::string branch{};
  std::string commit{};
};

// Sets the branch and commit. This process must have no children, because they would end with git.
void find_source(PlanFile& file);

// Warns about words of `run` that a shell would interpret: there is no shell, so the program gets
// them as arguments. One sentence for each benchmark that has such words. Warns also if no
// comparison can get a verdict about the average that the plan asks for, and about an
// 'analysis.higher' without effect.
std::vector<std::string> plan_warnings(const plan::Plan& plan);
// Prints these warnings on stderr, unless the plan is invalid.
void tell_plan_warnings(const PlanFile& file);

// Fails if `sources` names something that the plan's folder does not have. Checks nothing if the
// plan measures commits, which have their own files.
Result<void> check_sources(const plan::Plan& plan, const PlanFile& file);

// The plan's text as it is submitted. If the plan has a range of nodes, this asks Slurm, chooses as
// many nodes as are idle, and adds their number to the text. Other texts stay as they are.
Result<std::string> with_chosen_nodes(const PlanFile& file);

// The table [machines] of a plan whose blocks run on these nodes of a Slurm cluster: on as many as
// the number or the range says ("3", "2-4"), or on those that it names, as in "n1,n2". "" makes "".
Result<std::string> machines_table(const std::string& nodes);

// Says what is wrong with a missing, empty, binary or huge file. With `machines`, the plan gets the
// table that machines_table() makes.
Result<PlanFile> read_plan_file(const std::string& path, const std::string& machines = "");

}  // namespace stab::client
