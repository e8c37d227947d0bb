// SPDX-License-Identifier: MIT
// Finds code that may put the stack pointer on another stack. Any write to the stack pointer may
// do so, unless the value is certainly a place of the function's own stack: after an addition or
// subtraction of a number, a push, a pop or an alignment, or if it comes from a frame pointer that
// was made from the stack pointer in this call, or was saved in this call in a register or in a
// word of the frame. A stack pointer that was lowered by an unknown number must be set to such a
// value before the function returns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stab::instrumenter {

// Calls from `begin` to `end` may continue at `pad`. All three count from the start of a part.
struct Landing {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t pad = 0;
};

struct CodePart {
  std::uint64_t start = 0;
  std::span<const std::uint8_t> code;
  bool is_entered = true;      // calls enter it at its start
  bool has_functions = false;  // it has several; an instruction that no jump leads to starts one
  std::vector<std::uint32_t> jump_targets{};  // targets of tables, as far as they are known
  std::vector<Landing> landings{};
  bool landings_known = false;               // there are no other landings
  std::vector<std::uint32_t> behind_ends{};  // places after calls that never return
  bool ends_in_nothing = false;  // no code begins behind it, so jumps to there are never reached
};

// Searches a function together with its parts elsewhere. Returns the address of the first
// instruction that is not proved to keep the stack. `compiled`: a word of the frame that holds the
// stack pointer is never an object of the program.
std::optional<std::uint64_t> find_switch(std::span<const CodePart> parts, bool compiled);

}  // namespace stab::instrumenter
