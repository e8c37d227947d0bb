// SPDX-License-Identifier: MIT
// Revisions of a git repository, and its working tree, each in a folder of its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace stab::client::ab {

// What stands for the working tree with all that is not committed.
inline constexpr const char* working_tree = ".";

// `given`: two or more; one is compared with the working tree; with none it is the commit at which
// this branch left the main one. The first is what the others are compared with.
Result<std::vector<std::string>> revisions_to_compare(const std::vector<std::string>& given,
                                                      const std::string& directory);

// The whole name of a revision's commit.
Result<std::string> commit_of(const std::string& directory, const std::string& revision);

struct Checkout {
  std::string folder;  // to be made
  std::string revision;
};

// The files of the revision with their submodules, which must be there in the repository. Nothing of
// the repository is changed.
Result<void> check_out(const std::string& directory, const Checkout& checkout);

// From the top of the repository to this folder in it: "", or "tools/".
Result<std::string> way_from_top(const std::string& directory);

struct BuildOf {
  std::string command;  // for /bin/sh
  int stop_fd = -1;     // when it becomes readable the build is ended
  std::map<std::string, std::string> variables;
};

// In the folder. The error has the end of what the build printed, all of which goes to the file
// `log`.
Result<void> build_in(const std::string& folder, const std::string& log, const BuildOf& build);

// These files and folders become what they are in the folder `from`.
Result<void> take_over(const std::vector<std::string>& paths, const std::string& from,
                       const std::string& to);

}  // namespace stab::client::ab
