// SPDX-License-Identifier: MIT
// Checks out revisions of a git repository, or copies its working tree, each into a folder of its
// own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "revisions/git.h"

namespace stab::revisions {

using plan::working_tree;

// Returns at least two revisions, of which the first is the baseline of the others. A single given
// revision is compared with the working tree. If `given` is empty or only the working tree, the baseline is the commit at
// which this branch left its upstream branch or the main branch.
Result<std::vector<std::string>> revisions_to_compare(const std::vector<std::string>& given,
                                                      const Repository& repository);

// The full name of a revision's commit.
Result<std::string> commit_of(const Repository& repository, const std::string& revision);

// The checked-out branch and commit. The branch is "" if HEAD is detached.
struct Head {
  std::string branch;
  std::string commit;
};
// Returns nullopt if the folder is not in a repository, or if git can't tell.
std::optional<Head> head_of(const Repository& repository);

struct Checkout {
  std::string folder;  // will be created
  std::string revision;
};

// Writes the files of a revision, with its submodules. For the working tree, writes its files as
// they are now, except files that git ignores. Untracked files become older than all others, so
// that a build makes its products again. Changes nothing in the repository, and writes nothing
// outside of the folder.
Result<void> check_out(const Repository& repository, const Checkout& checkout);

// Whether the working tree has exactly the files of this commit, apart from files that git ignores
// or stabctl wrote.
Result<bool> is_working_tree(const Repository& repository, const std::string& commit);

// Returns an error if check_out() would not find all objects of a commit, or all submodules of the
// working tree.
Result<void> is_whole(const Repository& repository, const std::string& revision);

// Whether the commit, or a submodule of it, has a file or folder at this path from the top of the
// repository.
Result<bool> has(const Repository& repository, const std::string& commit, const std::string& path);

// The path from the top of the repository to this folder: "" or "tools/".
Result<std::string> way_from_top(const Repository& repository);

// Makes these files and folders equal to those in the folder `from`.
Result<void> take_over(const std::vector<std::string>& paths, const std::string& from,
                       const std::string& to);

}  // namespace stab::revisions
