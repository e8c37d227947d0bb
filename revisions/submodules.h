// SPDX-License-Identifier: MIT
// The submodules of a commit or of the index, and where their objects are.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "revisions/git.h"

namespace stab::revisions {

struct Entry {
  std::string path;    // from the top
  std::string commit;  // "": no submodule, a file
};

// The submodules of a commit.
Result<std::vector<Entry>> submodules_of(const Repository& top, const std::string& commit);

// What is in the index, each path once.
Result<std::vector<Entry>> entries_of_index(const Repository& top);

// The repository that has the commit of a submodule of `commit`: where it is checked out, or was.
Result<Repository> repository_of(const Entry& submodule, const Repository& top,
                                 const std::string& commit);

// A submodule of the index in the working tree; an empty directory: it has gone.
Result<Repository> checked_out(const Entry& submodule, const Repository& top);

}  // namespace stab::revisions
