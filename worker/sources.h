// SPDX-License-Identifier: MIT
// A copy of what a build reads, taken once an experiment, so that all of its builds see the same
// sources however long it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace stab::worker {

inline constexpr std::uint64_t max_source_files = 20'000;
inline constexpr std::uint64_t max_source_bytes = std::uint64_t{512} << 20;

struct Sources {
  std::string digest;      // of names, kinds, modes and contents
  std::string path;        // of the copy, inside of the cache; nobody changes it
  std::string left_out{};  // in words: "plan.toml, results/stabd.db"; "": nothing
};

// Copies `names` (files or folders, relative to `directory`; empty: all of it) into the cache; of
// folders all but .git, plans that lie in it, folders of runs, and what stabctl wrote. Fails if a name does not exist or leaves the directory, and if there is more than the
// limits, which no plan means to copy.
Result<Sources> take_sources(const std::string& directory, const std::vector<std::string>& names,
                             const std::string& cache);

// A copy to build in; symbolic links stay links.
Result<void> copy_tree(const std::string& from, const std::string& to);

}  // namespace stab::worker
