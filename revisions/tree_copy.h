// SPDX-License-Identifier: MIT
// Copies files of a working tree without touching anything outside of the copy.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"

namespace stab::revisions {

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

}  // namespace stab::revisions
