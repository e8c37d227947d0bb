// SPDX-License-Identifier: MIT
// Stages that analyse the frames of functions: their descriptions for unwinders, the places of
// their sizes, and the functions that may have many frames at once. Also has what these stages
// share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "instrumenter/postlink/decode/decoder.h"
#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

// Fills in Function::frame, and pins functions with unwind information that a copy could not
// carry.
void read_frames(Program& program);

// Finds the fields that hold the size of a frame, and removes the pass's static pads again where
// that is certainly right.
void analyse_stack(Program& program);

// Finds the functions with labels whose addresses the program keeps in words or registers. Returns
// their starts. A word leads to the label in the copy, even if the original uses it, and the
// original runs if its entry has no room for a jump.
std::unordered_set<std::uint64_t> functions_with_labels(const Program& program);

// The part of analyse_stack() for functions that the pass has not seen. `entered`: the starts of
// functions whose copies may run in a frame that other code made.
void pad_other_compilers(Program& program, const std::unordered_set<std::uint64_t>& entered);

std::string_view describe(abi::PadReason reason);

// Notes in the functions where calls by pointers may lead.
void read_call_types(Program& program);

// The calls by pointers that count: those that the pass noted, by their types, or also those of
// other code, which may lead to any function whose address is taken.
enum class CallsByPointer : std::uint8_t { noted, all };

// Finds the functions that may be on the stack many times: returns for each function whether a
// chain of calls may lead from it back to itself. A call by a pointer may lead to any function of
// its type whose address is taken. The calls that other libraries make are not known.
std::vector<bool> recursive_functions(const Program& program, CallsByPointer calls);

// The canonical frame address of a function at each instruction, according to its frame
// description.

struct CfaRow {
  static constexpr unsigned unknown = ~0u;
  static constexpr std::size_t no_field = SIZE_MAX;
  std::uint32_t from = 0;   // offset in the function; the row holds up to the next row's offset
  unsigned base = unknown;  // DWARF number of a register
  std::uint64_t offset = 0;
  // The words below the CFA that hold saved registers. Bit n stands for the word that begins 8 * n
  // bytes below; words further down have no bit.
  std::uint64_t saved = 0;
  // The number in CfaTable::fields that the offset was read from. The CIE's numbers are not there.
  std::size_t field = no_field;
};

// A number in the description: the distance of the CFA from a register.
struct CfaField {
  std::uint32_t place = 0;  // from the start of the description
  std::uint32_t width = 0;
  std::uint64_t value = 0;
};

struct CfaTable {
  std::vector<CfaRow> rows;
  std::vector<CfaField> fields;
  // How far below the CFA the description finds saved registers, at most.
  std::int64_t deepest = 0;
  // It computes an address or a value in a way that is not followed, or finds a register above the
  // CFA.
  bool has_expressions = false;

  [[nodiscard]] const CfaRow* at(std::uint32_t offset) const;
};

constexpr unsigned dwarf_rbp = 6;
constexpr unsigned dwarf_rsp = 7;

// Returns no rows if there is no description, or it is not understood.
CfaTable read_cfa(const Program& program, const Function& function);

// The code that works in one frame: a function, and then its parts elsewhere. gcc puts blocks that
// rarely run into a part of their own (`.cold`). The function enters a part by jumps, with its
// frame, and a part may jump back.
struct FrameCode {
  struct Part {
    Function* function = nullptr;
    CfaTable cfa;
    std::size_t end = 0;  // the number of steps up to its end
  };

  FrameCode(const Program& program, std::span<Function* const> functions);

  // Returns the part that contains a step.
  [[nodiscard]] std::size_t part_at(std::size_t step) const;
  // Returns the row that holds at a step.
  [[nodiscard]] const CfaRow* row_at(std::size_t step) const;
  [[nodiscard]] bool ends_part(std::size_t step) const;

  std::vector<Part> parts;
  std::vector<Instruction> steps;  // of one part after the other
};

// The stack pointer in a function, and the instructions that make its frame large and small again.
//
// At each instruction, a frame is either *outside* or *inside*. It is outside before `sub $K,
// %rsp` and after the instruction that undoes it, when the saved registers are on top of the
// stack. It is inside in between. The frame grows by P when P is added to each number K:
// everything that the stack pointer reaches then lies P lower, and everything that rbp reaches
// stays in place. That is right if the stack pointer reaches nothing in the upper part and rbp
// reaches nothing in the lower part, wherever the function divides them:
//   plain      no rbp: all locals belong to the lower part; the upper one is only pushed and popped
//   framed     rbp is the frame pointer: all locals belong to the upper part, and the arguments of
//              calls to the lower one
//   realigned  like plain, but rbp keeps the place of the upper part, and P is a multiple of the
//              alignment
enum class FrameShape : std::uint8_t { plain, framed, realigned };

// A number in an instruction that grows with the frame: K, or K and what was pushed since.
struct SizeField {
  std::uint32_t place = 0;  // from the start of the part
  std::uint8_t width = 0;   // 1 or 4 bytes
  std::int64_t value = 0;   // as encoded; more than 0
  std::size_t part = 0;     // index in FrameCode::parts
};

struct FrameFlow {
  abi::PadReason reason = abi::PadReason::none;  // why the frame is not understood
  FrameShape shape = FrameShape::plain;
  bool varies = false;           // a part of the frame has a size that only the running code knows
  bool deep_outside = false;     // outside, more than `upper` bytes may be on the stack
  std::int64_t size = 0;         // K
  std::int64_t upper = 0;        // bytes from the return address down to the lower part
  std::int64_t base = 0;         // bytes from the return address down to where rbp points
  std::uint32_t alignment = 16;  // of a realigned frame
  std::vector<SizeField> fields;
  // Bytes from the return address down to the stack pointer, by step; nullopt if that is not known.
  std::vector<std::optional<std::int64_t>> below_entry;
  // The next five are places, in bytes from where the stack pointer is inside. This one is 1 more
  // than the highest direct access by the stack pointer, and lowest_by_rbp is the lowest direct
  // access by rbp.
  std::int64_t highest_by_rsp = INT64_MIN;
  std::int64_t highest_indexed_by_rsp = INT64_MIN;  // the same, with another register
  std::int64_t lowest_indexed_by_rsp = INT64_MAX;
  std::int64_t lowest_by_rbp = INT64_MAX;
  std::int64_t lowest_indexed = INT64_MAX;  // by rbp and another register
  // How far below that place the stack pointer is; nullopt if that is not known.
  std::vector<std::optional<std::int64_t>> depths;  // by step
};

// Follows the stack pointer through a function and its parts.
FrameFlow follow_frame(const FrameCode& code);

}  // namespace stab::instrumenter
