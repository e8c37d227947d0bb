// SPDX-License-Identifier: MIT
// Copies the sources of a git revision.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "machine/child.h"
#include "worker/sources.h"

namespace stab::worker {

struct RevisionOf {
  std::string directory;  // the plan's folder, in a repository
  std::string revision;   // a commit's full name, or plan::working_tree
};

// Like take_sources(), but copies the plan's folder as it is in the revision, with its submodules.
// The working tree includes uncommitted files, but not the files that git ignores. The repository
// does not change. `how` says how to run git.
Result<Sources> take_revision(const RevisionOf& from, const std::vector<std::string>& names,
                              const std::string& cache, const machine::Launch& how);

}  // namespace stab::worker
