// SPDX-License-Identifier: MIT
// Revisions of a git repository, and its working tree, each in a folder of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "revisions/git.h"

namespace stab::revisions {

using plan::working_tree;

// `given`: two or more; one is compared with the working tree; with none it is the commit at which
// this branch left the main one. The first is what the others are compared with.
Result<std::vector<std::string>> revisions_to_compare(const std::vector<std::string>& given,
                                                      const Repository& repository);

// The whole name of a revision's commit.
Result<std::string> commit_of(const Repository& repository, const std::string& revision);

// What is checked out; the branch is "" if HEAD names a commit alone.
struct Head {
  std::string branch;
  std::string commit;
};
// Nothing if the folder lies in no repository, or git cannot say it.
std::optional<Head> head_of(const Repository& repository);

struct Checkout {
  std::string folder;  // to be made
  std::string revision;
};

// The files of the revision with their submodules; of the working tree as they are there, and those
// that git does not ignore. Untracked files become older than all others, so that a build makes its
// products anew. Nothing of the repository is changed, and nothing is written outside of
// the folder.
Result<void> check_out(const Repository& repository, const Checkout& checkout);

// Whether the working tree has the files of this commit, and no others that git does not ignore.
Result<bool> is_working_tree(const Repository& repository, const std::string& commit);

// That check_out() will find all of a commit, or the submodules of the working tree.
Result<void> is_whole(const Repository& repository, const std::string& revision);

// Whether the commit or a submodule of it has such a file or folder, by its way from the top of the
// repository.
Result<bool> has(const Repository& repository, const std::string& commit, const std::string& path);

// From the top of the repository to this folder in it: "", or "tools/".
Result<std::string> way_from_top(const Repository& repository);

// These files and folders become what they are in the folder `from`.
Result<void> take_over(const std::vector<std::string>& paths, const std::string& from,
                       const std::string& to);

}  // namespace stab::revisions
