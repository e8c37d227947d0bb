// SPDX-License-Identifier: MIT
// Finds the separate file with the debug information of a stripped object, and checks that it
// belongs to the object.
#pragma once

#include <llvm/Object/ObjectFile.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stab::causal {

struct DebugFile {
  std::string path{};
  std::optional<std::uint32_t> checksum{};  // from the object's debug link
};

// Lists where the file may be, the likeliest path first: by the build id below /usr/lib/debug, and
// then by the debug link in the folder of `path`, in its .debug folder, and below /usr/lib/debug.
std::vector<DebugFile> debug_files(const llvm::object::ObjectFile& object, const std::string& path);

// Compares the build ids if both files have one, or else the checksum of the whole of `debug`.
// Returns false if neither is possible.
bool is_of_same_build(const llvm::object::ObjectFile& object, const llvm::object::ObjectFile& debug,
                      std::optional<std::uint32_t> checksum);

}  // namespace stab::causal
