// SPDX-License-Identifier: MIT
// What in a file refers to places in its code: rather too much than too little.
#pragma once

#include <functional>
#include <span>

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

// To one of the places from `first` to `last`.
struct Reference {
  enum class Kind : std::uint8_t {
    branch,
    address,  // of what may be a function
    content,  // or nobody knows what for
  };
  Kind kind = Kind::content;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t from = 0;
};

using TakeReference = std::function<void(const Reference&)>;

// Those of instructions. Where code is not decoded, every field of 1 or 4 bytes counts as one,
// and as that of a branch where one may end so.
void references_of(const Function& function, const TakeReference& take);

// Those that relocations tell of, as far as they are no operands of decoded instructions, and what
// is known of the file's places elsewhere. Distances in data count from a place up to which nothing
// is `named` (ascending), or behind. `is_decoded` says so of an address of code.
void references_of(const ElfFile& file, std::span<const std::uint64_t> named,
                   const std::function<bool(std::uint64_t)>& is_decoded, const TakeReference& take);

}  // namespace stab::instrumenter
