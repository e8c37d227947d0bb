// SPDX-License-Identifier: MIT
// Files of a working tree, copied so that nothing outside of the copy is touched.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"

namespace stab::revisions {

// A way that stays below where it begins, and is nothing of git's own.
bool is_way(const std::filesystem::path& path);

// No link on the way to it leads out of the folder.
bool is_inside(const std::filesystem::path& root, const std::filesystem::path& path);

// No part of the way to it is a link: git sees nothing behind links.
bool is_tracked_way(const std::filesystem::path& root, const std::filesystem::path& path);

// Whether a folder may be made there: the way to it is in `root`, and nothing else stands there.
bool has_place(const std::filesystem::path& root, const std::filesystem::path& path);

// A file or folder of one folder becomes in another what it is there, or is not. Pipes, sockets and
// devices are not there.
Result<void> bring(const std::filesystem::path& path, const std::filesystem::path& from,
                   const std::filesystem::path& to);

// Copies what git lists of a working tree into a folder that has nothing of it.
class TreeCopy {
 public:
  TreeCopy(std::filesystem::path from, std::filesystem::path to);
  // "folder/": with all that is in it. What has gone is not in the copy.
  Result<void> add(const std::string& listed);
  // The same of what git does not track. It becomes older than what git tracks, and the products of a
  // compiler oldest of all: else a build would take those of an earlier one for up to date.
  Result<void> add_untracked(const std::string& listed);

 private:
  std::filesystem::path from_;
  std::filesystem::path to_;
  std::string looked_at_;  // the folder of which it is known that it is one in both
};

}  // namespace stab::revisions
