// SPDX-License-Identifier: MIT
// Git, run so that it writes nothing into a repository that is not ours, asks no network, and runs
// none of what a repository's settings name, but for the filters of a checkout.
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

  std::string directory;  // the repository, or a folder in it
  // How git is run: its environment (none: the caller's own, without what names a repository), what
  // ends it and what holds its processes.
  machine::Launch how{};
  // "": git finds it; otherwise what would be `directory`/.git, without any working tree.
  std::string git_directory{};
};

// The same git in another folder.
Repository at(const Repository& repository, std::string directory);

// A setting that git is given: "core.eol" and "lf".
using Setting = std::pair<std::string, std::string>;

Result<machine::Ended> run_git(const Repository& repository,
                               const std::vector<std::string>& arguments,
                               const std::vector<Setting>& settings = {});

bool is_well(const machine::Ended& ended);

// What it prints. An error unless it ends well.
Result<std::string> git(const Repository& repository, const std::vector<std::string>& arguments,
                        const std::vector<Setting>& settings = {});

// The same without the end of its last line.
Result<std::string> git_line(const Repository& repository,
                             const std::vector<std::string>& arguments);

// What git prints with -z.
std::vector<std::string> split_at_zeros(const std::string& text);

}  // namespace stab::revisions
