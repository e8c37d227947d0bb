// SPDX-License-Identifier: MIT
// A program as the post-link step knows it: its functions by address, and the labels inside them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "instrumenter/postlink/decode/decoder.h"
#include "instrumenter/postlink/elf/elf_file.h"
#include "runtime/abi/abi.h"

namespace stab::instrumenter {

// The call frame description of a function, as far as a copy of it has to be adjusted.
struct FrameInfo {
  std::uint64_t fde = 0;  // address, or 0 if there is none
  std::uint32_t fde_size = 0;
  std::uint32_t cie = 0;  // index in Program::cies
  std::uint16_t lsda_field = 0;
  std::uint8_t lsda_absolute = 0;  // bytes of the field if it holds an address, else 0
  std::uint64_t lsda = 0;          // address of the exception table, or 0
};

// The exception table of a function, taken apart.
struct CallSite {
  std::uint32_t start = 0;
  std::uint32_t length = 0;
  std::optional<std::uint32_t> label;  // the landing pad's index in Program::labels
  std::uint32_t action = 0;
};

struct Exceptions {
  std::vector<CallSite> call_sites;
  std::uint8_t types_encoding = 0xff;
  std::uint64_t types = 0;  // address that the type table counts from, or 0
  std::span<const std::uint8_t> actions;
};

struct CieInfo {
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  std::uint32_t personality_field = 0;
};

// How copies of a function get frames of another size.
struct StackPad {
  abi::PadReason reason = abi::PadReason::calls_nothing;  // none: the copies get pads
  bool changes_stack = false;                             // the function changes the stack pointer
  bool by_pass = false;                                   // the pass made room for the pad
  std::uint32_t step = abi::pad_unit;  // the pad's size is a multiple of it, in bytes
  std::uint32_t most = 0;
  std::int64_t above = 0;  // bytes from the pad's end to the CFA, or 0 if unknown
  // The function whose frame this part of it uses, by its index in Program::functions. The part has
  // the same pad.
  std::optional<std::uint32_t> part_of;
  std::vector<std::uint32_t> code_fields;         // in the form of abi::code_field
  std::vector<std::uint32_t> description_fields;  // in the form of abi::description_field
};

// Bytes that replace bytes of the file in place.
struct Patch {
  std::uint64_t address = 0;
  std::vector<std::uint8_t> bytes;
};

// Bytes in data that a function reads when it is entered. The runtime draws them.
struct EntryPad {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  bool modest = false;
};

inline bool is_cold_part(std::string_view name) {
  return name.contains(".cold");
}

class Function {
 public:
  std::uint64_t start = 0;
  std::uint32_t size = 0;
  std::size_t section = 0;
  std::string_view name;
  bool keeps_entry = false;
  bool anchored = false;
  bool passes_its_caller = false;  // jumps to a function of libc that looks at its caller
  FrameInfo frame;
  Exceptions exceptions;
  std::vector<std::uint8_t> code;
  DecodedFunction decoded;
  std::vector<abi::Fixup> fixups;
  std::uint32_t address_registers = 0;       // as in abi::Function
  std::vector<std::uint32_t> words;          // jump tables, which follow the code
  std::vector<std::uint32_t> table_targets;  // offsets that the jump tables lead to
  std::vector<std::uint32_t> behind_ends;    // offsets behind calls that never return
  StackPad pad;
  bool is_typed = false;   // the pass noted its type and the types that it calls
  std::uint32_t type = 0;  // its type for calls by pointers; 0: unknown, or no pointer leads to it
  bool address_taken = false;
  std::vector<std::uint32_t> callees_by_name;  // functions of this file whose symbols it uses
  std::vector<std::uint32_t> called_types;     // types that it calls by pointers

  [[nodiscard]] std::uint64_t end() const { return start + size; }
  [[nodiscard]] abi::PinReason pin() const { return pin_; }
  [[nodiscard]] bool movable() const { return pin_ == abi::PinReason::none; }
  [[nodiscard]] bool contains(std::uint64_t address) const {
    return address >= start && address < end();
  }
  // Whether an instruction starts at this address, inside the function.
  [[nodiscard]] bool starts_instruction(std::uint64_t address) const {
    return contains(address) && decoded.complete && decoded.starts[address - start];
  }

 private:
  friend struct Program;
  abi::PinReason pin_ = abi::PinReason::none;
};

// Whether a word with the address of one of the function's labels may serve a jump, which may be
// in the hot part. Otherwise somebody compares the address, say with the place of a fault.
inline bool jumps_to_labels(const Function& function) {
  return function.decoded.jumps_anywhere || is_cold_part(function.name);
}

struct Slot {
  std::uint64_t where = 0;
  std::uint32_t label = 0;
  bool readonly = false;
};

// A pointer to a function in a vtable.
struct Pointer {
  std::uint64_t where = 0;
  std::uint32_t function = 0;
};

// Code that makes the runtime keep all layouts.
struct Hider {
  std::uint64_t address = 0;
  std::string name;
  abi::HideReason reason = abi::HideReason::none;
};

struct Program {
  const ElfFile* file = nullptr;
  std::vector<Function> functions;  // sorted by start, without overlap
  std::vector<Function> unsized;    // code between the functions that stays, sorted by start
  std::vector<Hider> hiders;    // code that hides addresses of code: on other stacks, in a jmp_buf
  bool small_stacks = false;    // the program may run on small stacks
  bool pads_for_others = true;  // functions that the pass has not seen may get pads
  std::vector<CieInfo> cies;
  std::vector<abi::Label> labels;
  std::vector<Slot> slots;  // sorted by place
  std::vector<Pointer> pointers;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> label_numbers;
  std::vector<Patch> patches;
  std::vector<EntryPad> entry_pads;      // sorted by start, without overlap
  std::vector<std::string> code_bounds;  // names of the code's bounds that the program uses

  // Pins the function, which may belong to the program later. The first reason stays. Aborts if the
  // pins are final.
  void pin(Function& function, abi::PinReason reason) const;
  bool pins_are_final = false;  // pin_dependents (code/code.h) has looked at all pins

  // Returns the function that contains this address.
  [[nodiscard]] Function* find(std::uint64_t address);
  [[nodiscard]] std::uint32_t index(const Function& function) const {
    return static_cast<std::uint32_t>(&function - functions.data());
  }
  // Returns the function whose entry contains this address but begins before it. If a function is
  // shorter than the jump that is written there, its entry extends beyond its end.
  [[nodiscard]] Function* find_overwritten(std::uint64_t address);
  // Returns the function or the code without a size that begins there.
  [[nodiscard]] const Function* find_code(std::uint64_t start) const;
  // Whether code without a size, but with a name, begins there.
  [[nodiscard]] bool begins_unsized(std::uint64_t address) const;
  std::uint32_t label(const Function& function, std::uint32_t offset);
  // Notes only one reason for each function.
  void hides_by(const Function& function, abi::HideReason reason);
};

// Returns for each function the index of the first function of its group. Functions of a group may
// share a frame: one jumps into the middle of another, or to another's cold part.
std::vector<std::uint32_t> groups_by_jumps(Program& program);

// Finds and decodes the sized functions of the file's executable sections. Functions that cannot
// be told apart are pinned.
void find_functions(Program& program);

// Adds functions, which must not overlap any other.
void add_functions(Program& program, std::vector<Function> more);

struct Gap {
  std::uint64_t start = 0;
  std::span<const std::uint8_t> code;
  std::size_t section = 0;
};

// Returns the bytes between functions in executable sections; most are hand-written code.
std::vector<Gap> code_without_function(const Program& program);

// Turns that code into functions if it shows their sizes. The rest goes to Program::unsized,
// unless it is only padding.
void find_unsized(Program& program);

std::string_view describe(abi::PinReason reason);
std::string_view describe(abi::HideReason reason);

}  // namespace stab::instrumenter
