// SPDX-License-Identifier: MIT
// What the post-link step knows of a program: its functions by address, and the labels inside of
// them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "instrumenter/postlink/decode/decoder.h"
#include "instrumenter/postlink/elf/elf_file.h"
#include "runtime/abi/abi.h"

namespace stab::instrumenter {

// The call frame description of a function, as far as a clone of it has to be adjusted.
struct FrameInfo {
  std::uint64_t fde = 0;  // address; 0: none
  std::uint32_t fde_size = 0;
  std::uint32_t cie = 0;  // index in Program::cies
  std::uint16_t lsda_field = 0;
  std::uint8_t lsda_absolute = 0;  // bytes of the field if it holds an address, else 0
  std::uint64_t lsda = 0;          // address of the exception table; 0: none
};

// The exception table of a function, taken apart.
struct CallSite {
  std::uint32_t start = 0;
  std::uint32_t length = 0;
  std::optional<std::uint32_t> label;  // of the landing pad, as Program numbers it
  std::uint32_t action = 0;
};

struct Exceptions {
  std::vector<CallSite> call_sites;
  std::uint8_t types_encoding = 0xff;
  std::uint64_t types = 0;  // address that the type table counts from; 0: none
  std::span<const std::uint8_t> actions;
};

struct CieInfo {
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  std::uint32_t personality_field = 0;
};

// How copies of a function get frames of another size.
struct StackPad {
  abi::PadReason reason = abi::PadReason::calls_nothing;  // none: they do
  std::uint32_t step = abi::pad_unit;                     // of the size, in bytes
  std::uint32_t most = 0;
  std::int64_t above = 0;                         // bytes from its end to the CFA; 0: unknown
  std::vector<std::uint32_t> code_fields;         // 32-bit numbers in the code
  std::vector<std::uint32_t> description_fields;  // as abi::description_field says
};

// Bytes of the file that are changed where they are.
struct Patch {
  std::uint64_t address = 0;
  std::vector<std::uint8_t> bytes;
};

// Bytes in data that a function reads when it is entered; the runtime draws them.
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
  FrameInfo frame;
  Exceptions exceptions;
  std::vector<std::uint8_t> code;
  DecodedFunction decoded;
  std::vector<abi::Fixup> fixups;
  std::uint32_t address_registers = 0;       // as the ABI says
  std::vector<std::uint32_t> words;          // jump tables, behind the code
  std::vector<std::uint32_t> table_targets;  // what they lead to
  std::vector<std::uint32_t> behind_ends;    // what follows calls that never return
  StackPad pad;
  std::uint32_t type = 0;  // of what calls it by a pointer; 0: nothing or unknown
  bool address_taken = false;
  std::vector<std::uint32_t> called_types;  // by pointers

  [[nodiscard]] std::uint64_t end() const { return start + size; }
  [[nodiscard]] abi::PinReason pin() const { return pin_; }
  [[nodiscard]] bool movable() const { return pin_ == abi::PinReason::none; }
  [[nodiscard]] bool contains(std::uint64_t address) const {
    return address >= start && address < end();
  }
  // At an address inside the function.
  [[nodiscard]] bool starts_instruction(std::uint64_t address) const {
    return contains(address) && decoded.complete && decoded.starts[address - start];
  }

 private:
  friend class Pinning;
  abi::PinReason pin_ = abi::PinReason::none;
};

// Whether a word that holds the address of one of its labels may be for a jump. Otherwise somebody
// compares it, say with the place of a fault. The jump may be in the hot part.
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

// Code that makes all layouts stay.
struct Hider {
  std::uint64_t address = 0;
  std::string name;
  abi::HideReason reason = abi::HideReason::none;
};

struct Program {
  const ElfFile* file = nullptr;
  std::vector<Function> functions;  // by start, without overlap
  std::vector<Function> unsized;    // code that lies between them and stays, by start
  std::vector<Hider> hiders;        // of addresses of code: on other stacks, in a jmp_buf
  bool small_stacks = false;        // that the program makes
  std::vector<CieInfo> cies;
  std::vector<abi::Label> labels;
  std::vector<Slot> slots;  // by place
  std::vector<Pointer> pointers;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> label_numbers;
  std::vector<Patch> patches;
  std::vector<EntryPad> entry_pads;  // by start, without overlap

  // The function that holds this address.
  [[nodiscard]] Function* find(std::uint64_t address);
  [[nodiscard]] std::uint32_t index(const Function& function) const {
    return static_cast<std::uint32_t>(&function - functions.data());
  }
  // The function whose entry lies around this address, but does not begin there; also behind the end
  // of one that is shorter than the jump that is written there.
  [[nodiscard]] Function* find_overwritten(std::uint64_t address);
  // What begins there, with a size or without.
  [[nodiscard]] const Function* find_code(std::uint64_t start) const;
  // Whether code without a size, but with a name, begins there.
  [[nodiscard]] bool begins_unsized(std::uint64_t address) const;
  std::uint32_t label(const Function& function, std::uint32_t offset);
  // Once a function is enough.
  void hides_by(const Function& function, abi::HideReason reason);
};

// The right to pin functions, which comes with them. There is one, and pin_dependents (code/code.h)
// takes it: after that nothing is pinned any more.
class Pinning {
 public:
  Pinning(Pinning&&) = default;

  // The first reason stays.
  void pin(Function& function, abi::PinReason reason) const {
    if (function.movable()) function.pin_ = reason;
  }

 private:
  Pinning() = default;
  friend Pinning find_functions(Program& program, const Decoder& decoder);
};
static_assert(!std::is_copy_constructible_v<Pinning> && !std::is_default_constructible_v<Pinning>);

class SymbolsAreSized {
  SymbolsAreSized() = default;
  friend SymbolsAreSized find_unsized(Program& program, const Decoder& decoder,
                                      const Pinning& pinning);
};

// Sized functions of the file's executable sections, decoded; what cannot be told apart is pinned.
Pinning find_functions(Program& program, const Decoder& decoder);

// Takes more functions in, which overlap none.
void add_functions(Program& program, const Decoder& decoder, std::vector<Function> more,
                   const Pinning& pinning);

struct Gap {
  std::uint64_t start = 0;
  std::span<const std::uint8_t> code;
  std::size_t section = 0;
};

// What lies between functions in executable sections, hand-written code above all.
std::vector<Gap> code_without_function(const Program& program);

// Makes functions of that code where it shows their sizes, and names the rest, as far as it is more
// than padding.
SymbolsAreSized find_unsized(Program& program, const Decoder& decoder, const Pinning& pinning);

std::string_view describe(abi::PinReason reason);
std::string_view describe(abi::HideReason reason);

}  // namespace stab::instrumenter
