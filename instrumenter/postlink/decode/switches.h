// SPDX-License-Identifier: MIT
// Finds code that may put the stack pointer on another stack: every write of it is one, unless it
// is sure that the value is a place of the own stack. That is so for a number added or subtracted,
// a push or a pop, an alignment, a frame pointer that was made of the stack pointer in this call,
// and a value that was saved in it, in a register or in a word of the frame. A stack pointer that
// was lowered by an unknown number must be set to one of these before the function returns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "instrumenter/postlink/decode/decoder.h"

namespace stab::instrumenter {

// Calls from `begin` to `end` may continue at `pad`, all counted from the start of a part.
struct Landing {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t pad = 0;
};

struct CodePart {
  std::uint64_t start = 0;
  std::span<const std::uint8_t> code;
  bool is_entered = true;      // at its start, by calls
  bool has_functions = false;  // several: whatever nothing jumps to is the start of one
  std::vector<std::uint32_t> jump_targets{};  // of tables, as far as they are known
  std::vector<Landing> landings{};
  bool landings_known = false;               // there are no others
  std::vector<std::uint32_t> behind_ends{};  // what follows calls that never return
  bool ends_in_nothing = false;  // no code begins behind it: what jumps there is never reached
};

// A function with its parts elsewhere. The address of the first instruction that is not proved.
// `compiled`: no word of the frame that holds the stack pointer is an object of the program.
std::optional<std::uint64_t> find_switch(const Decoder& decoder, std::span<const CodePart> parts,
                                         bool compiled);

}  // namespace stab::instrumenter
