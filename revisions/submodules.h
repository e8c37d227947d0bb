// SPDX-License-Identifier: MIT
// Finds the submodules of a commit or of the index, and the repositories that have their objects.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "revisions/git.h"

namespace stab::revisions {

struct Entry {
  std::string path;    // from the repository's top
  std::string commit;  // "": a file, not a submodule
};

// The submodules of a commit, without their own submodules.
Result<std::vector<Entry>> submodules_of(const Repository& top, const std::string& commit);

// The entries of the index, each path once.
Result<std::vector<Entry>> entries_of_index(const Repository& top);

// The repository that has the submodule's commit: its checkout, or the place where git keeps it
// after a checkout.
Result<Repository> repository_of(const Entry& submodule, const Repository& top,
                                 const std::string& commit);

// The checkout of the index's submodule in the working tree. Its `directory` is "" if the
// submodule's folder is gone.
Result<Repository> checked_out(const Entry& submodule, const Repository& top);

}  // namespace stab::revisions
