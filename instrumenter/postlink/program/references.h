// SPDX-License-Identifier: MIT
// Finds the references to places in a file's code, and rather too many than too few.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

// A reference to one of the places from `first` to `last`.
struct Reference {
  enum class Kind : std::uint8_t {
    branch,
    address,  // of something that may be a function
    content,  // for the bytes there, or for an unknown purpose
  };
  Kind kind = Kind::content;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t from = 0;
};

using TakeReference = std::function<void(const Reference&)>;

// Reports the references of a function's instructions. If the code is not decoded, every field of
// 1 or 4 bytes counts as a reference, and as a branch if a branch may end with it.
void references_of(const Function& function, const TakeReference& take);

// Reports the references that relocations show, unless they are operands of decoded instructions,
// and the file's places that are known elsewhere. A distance in data counts from the last place
// before it that is `named` (ascending), or from a word behind that place. `is_decoded` tells
// whether the code at an address is decoded.
void references_of(const ElfFile& file, std::span<const std::uint64_t> named,
                   const std::function<bool(std::uint64_t)>& is_decoded, const TakeReference& take);

// The section where -fpatchable-function-entry lists the place in front of each function.
inline constexpr std::string_view patchable_entries = "__patchable_function_entries";

// Returns whether a symbol shows that the program asks where the section is.
bool asks_for_bounds(const ElfFile& file, std::string_view section);

// Returns whether the section is a list of places in code that compilers make for the kernel, and
// that this program does not ask for: nothing follows from its references.
bool is_unread_list(const ElfFile& file, std::string_view section);

}  // namespace stab::instrumenter
