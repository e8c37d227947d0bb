// SPDX-License-Identifier: MIT
// A copy of the files that builds read. It is made once for each experiment, so that all of its
// builds see the same sources however long it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "machine/measured_run.h"

namespace stab::worker {

inline constexpr std::uint64_t max_source_files = 20'000;
inline constexpr std::uint64_t max_source_bytes = std::uint64_t{512} << 20;

struct Sources {
  std::string digest;      // a digest of names, kinds, modes and contents
  std::string path;        // the copy's path in the cache; nobody changes the copy
  std::string left_out{};  // for people: "plan.toml, results/stabd.db"; "": nothing
};

// Copies `names` (files or folders, relative to `directory`; empty: the whole directory) into the
// cache. A folder's copy leaves out .git, plans directly in the folder, folders of runs, and files
// that stabctl wrote. Files keep their modification times, which are not part of the digest. Fails
// if a name does not exist or leaves the directory, or if the sources exceed the limits above, which
// no plan needs.
Result<Sources> take_sources(const std::string& directory, const std::vector<std::string>& names,
                             const std::string& cache);

// Makes a copy to build in, and first removes what is there. Symbolic links stay links, and files
// keep their modification times.
Result<void> copy_tree(const std::string& from, const std::string& to);

struct RevisionOf {
  std::string directory;  // the plan's folder, in a repository
  std::string revision;   // a commit's full name, or plan::working_tree
};

// Like take_sources(), but copies the plan's folder as it is in the revision, with its submodules.
// The working tree includes uncommitted files, but not the files that git ignores. The repository
// does not change. `how` says how to run git.
Result<Sources> take_revision(const RevisionOf& from, const std::vector<std::string>& names,
                              const std::string& cache, const machine::Launch& how);

}  // namespace stab::worker
