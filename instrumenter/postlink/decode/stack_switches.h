// SPDX-License-Identifier: MIT
// Follows addresses of the stack: finds code that may put the stack pointer on another stack, and
// the places of its frame that a function uses by such addresses. Any write to the stack pointer may
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
  // Places after calls of functions that leave rax alone, as far as their own code shows.
  std::vector<std::uint32_t> behind_keepers{};
  bool ends_in_nothing = false;  // no code begins behind it, so jumps to there are never reached
};

// Searches a function together with its parts elsewhere. Returns the address of the first
// instruction that is not proved to keep the stack. `compiled`: a word of the frame that holds the
// stack pointer is never an object of the program.
std::optional<std::uint64_t> find_switch(std::span<const CodePart> parts, bool compiled);

// Tells how a function uses addresses of its own stack. A place is a distance from the return
// address.
struct StackUse {
  // False if code computes such an address, or accesses memory by one, and it is not certain which
  // place that is. Indexed accesses count: a compiler may begin at a place in one object, and add
  // an index that always leads to another object.
  bool is_followed = true;
  // The highest place that the code accesses or computes, except by pushes, pops and calls.
  std::int64_t highest = INT64_MIN;
  // The function stores such an address outside of its frame, and compares another address with
  // one. So it may expect to find its frame where a frame was before.
  bool remembers = false;
  // For each instruction of one part after the other, the distance of the stack pointer below the
  // return address. It is nullopt if control does not come there, or if the distance is not known.
  std::vector<std::optional<std::int64_t>> below_entry{};
};

// `parts` are a whole function, and all its instructions are known.
StackUse find_stack_use(std::span<const CodePart> parts);

}  // namespace stab::instrumenter
