// SPDX-License-Identifier: MIT
// Sources of a git revision.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "machine/child.h"
#include "worker/sources.h"

namespace stab::worker {

struct RevisionOf {
  std::string directory;  // the plan's, in a repository
  std::string revision;   // a whole name of a commit, or plan::working_tree
};

// As take_sources() of the plan's folder as the revision has it, with its submodules; of the working
// tree with what is not committed, but without what git ignores. The repository stays as it is.
// `how` git is run.
Result<Sources> take_revision(const RevisionOf& from, const std::vector<std::string>& names,
                              const std::string& cache, const machine::Launch& how);

}  // namespace stab::worker
