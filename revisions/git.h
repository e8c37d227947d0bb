// SPDX-License-Identifier: MIT
// Runs git so that it writes nothing into other people's repositories and never uses the network.
// Git runs none of the programs that a repository's settings name, except the filters of a
// checkout.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "machine/child.h"

namespace stab::revisions {

struct Repository {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Repository(std::string in_it) : directory(std::move(in_it)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Repository(const char* in_it) : directory(in_it) {}

  std::string directory;  // the repository's folder, or a folder in it
  // How to run git: its environment (empty: the caller's own, without variables that name a
  // repository), the conditions that end it, and the containment of its processes.
  machine::Launch how{};
  // The folder to use instead of `directory`/.git, without a working tree; "": git finds it.
  std::string git_directory{};
};

// The same way to run git, in another folder.
Repository at(const Repository& repository, std::string directory);

// A setting for git: "core.eol" and "lf".
using Setting = std::pair<std::string, std::string>;

Result<machine::Ended> run_git(const Repository& repository,
                               const std::vector<std::string>& arguments,
                               const std::vector<Setting>& settings = {});

bool is_well(const machine::Ended& ended);

// Returns git's output, or an error unless git succeeds.
Result<std::string> git(const Repository& repository, const std::vector<std::string>& arguments,
                        const std::vector<Setting>& settings = {});

// Returns git's output without the newline at its end.
Result<std::string> git_line(const Repository& repository,
                             const std::vector<std::string>& arguments);

// Splits git's output with -z.
std::vector<std::string> split_at_zeros(const std::string& text);

}  // namespace stab::revisions
