// SPDX-License-Identifier: MIT
// The separate file that has the debug information of a stripped object: where it may be, and whether
// it is this object's.
#pragma once

#include <llvm/Object/ObjectFile.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stab::causal {

struct DebugFile {
  std::string path{};
  std::optional<std::uint32_t> checksum{};  // that the object's debug link has of it
};

// The likeliest first: below /usr/lib/debug by the build id, then by the debug link beside the object
// at `path`, in .debug there, and below /usr/lib/debug.
std::vector<DebugFile> debug_files(const llvm::object::ObjectFile& object, const std::string& path);

// By the build ids where both have one, else by the checksum of all of `debug`. Without either it is
// another's.
bool is_of_same_build(const llvm::object::ObjectFile& object, const llvm::object::ObjectFile& debug,
                      std::optional<std::uint32_t> checksum);

}  // namespace stab::causal
