// SPDX-License-Identifier: MIT
// Checks out revisions of a git repository, or copies its working tree, each into a folder of its
// own. Runs git so that it writes nothing into other people's repositories and never uses the
// network. Git runs none of the programs that a repository's settings name, except the filters of
// a checkout.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "machine/measured_run.h"
#include "plan/plan.h"

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

// The next functions, and TreeCopy, copy files of a working tree without touching anything outside
// of the copy.

// Whether a path is relative, never leaves its root, and has no part named .git.
bool is_way(const std::filesystem::path& path);

// Whether no link on the path leads out of the root.
bool is_inside(const std::filesystem::path& root, const std::filesystem::path& path);

// Whether no folder on the path is a link, because git sees nothing behind links.
bool is_tracked_way(const std::filesystem::path& root, const std::filesystem::path& path);

// Whether a folder may be made at this path: the path stays in `root`, and nothing but a folder is
// there already.
bool has_place(const std::filesystem::path& root, const std::filesystem::path& path);

// Makes `path` in `to` equal to `path` in `from`: copies the file or folder, or removes it if
// `from` lacks it. Ignores pipes, sockets and devices.
Result<void> bring(const std::filesystem::path& path, const std::filesystem::path& from,
                   const std::filesystem::path& to);

// Copies files of a working tree, as git lists them, into a folder that has none of them yet.
class TreeCopy {
 public:
  TreeCopy(std::filesystem::path from, std::filesystem::path to);
  // Adds a file, or for "folder/" a folder with everything in it. A file that has vanished
  // meanwhile is left out.
  Result<void> add(const std::string& listed);
  // Adds an untracked file or folder. The copy becomes older than tracked files, and the products
  // of a compiler become the oldest. Otherwise a build would consider products of an earlier build
  // up to date.
  Result<void> add_untracked(const std::string& listed);

 private:
  std::filesystem::path from_;
  std::filesystem::path to_;
  std::string looked_at_;  // a folder that is known to be safe in both trees
};

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
