// SPDX-License-Identifier: MIT
// Revisions of a git repository, and its working tree, each in a folder of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "machine/child.h"
#include "plan/plan.h"

namespace stab::revisions {

using plan::working_tree;

struct Repository {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Repository(std::string in_it) : directory(std::move(in_it)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Repository(const char* in_it) : directory(in_it) {}

  std::string directory;  // the repository, or a folder in it
  // How git is run: its environment (none: the caller's own, without what names a repository), what
  // ends it and what holds its processes.
  machine::Launch how{};
};

// `given`: two or more; one is compared with the working tree; with none it is the commit at which
// this branch left the main one. The first is what the others are compared with.
Result<std::vector<std::string>> revisions_to_compare(const std::vector<std::string>& given,
                                                      const Repository& repository);

// The whole name of a revision's commit.
Result<std::string> commit_of(const Repository& repository, const std::string& revision);

struct Checkout {
  std::string folder;  // to be made
  std::string revision;
};

// The files of the revision with their submodules, which must be there in the repository. Nothing of
// the repository is changed.
Result<void> check_out(const Repository& repository, const Checkout& checkout);

// Whether the commit has such a file or folder, by its way from the top of the repository.
Result<bool> has(const Repository& repository, const std::string& commit, const std::string& path);

// From the top of the repository to this folder in it: "", or "tools/".
Result<std::string> way_from_top(const Repository& repository);

// These files and folders become what they are in the folder `from`.
Result<void> take_over(const std::vector<std::string>& paths, const std::string& from,
                       const std::string& to);

}  // namespace stab::revisions
