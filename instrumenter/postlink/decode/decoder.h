// SPDX-License-Identifier: MIT
// Machine code as values: an instruction, and a function.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stab::instrumenter {

// General registers are numbered as in the encoding of instructions. A part of a register has the
// register's number.
constexpr std::uint8_t rcx_number = 1;
constexpr std::uint8_t rsp_number = 4;
constexpr std::uint8_t rbp_number = 5;
constexpr std::uint8_t rsi_number = 6;
constexpr std::uint8_t rdi_number = 7;
constexpr std::uint8_t no_register = 16;
constexpr std::size_t register_count = 16;

using Registers = std::uint16_t;  // a bit for each general register

constexpr Registers bit(std::uint8_t number) {
  return number == no_register ? Registers{0} : static_cast<Registers>(1U << number);
}
constexpr bool has(Registers set, std::size_t number) {
  return (set >> number & 1U) != 0;
}

constexpr Registers preserved_by_calls = 0b1111'0000'0010'1000;  // rbx, rbp, r12 to r15
constexpr Registers lost_by_calls = 0b0000'1111'1100'0111;  // rax, rcx, rdx, rsi, rdi, r8 to r11

constexpr std::uint32_t any_bytes = UINT32_MAX;

// The bytes of an instruction that hold a number; `at` counts from the instruction's start.
struct NumberField {
  std::uint8_t at = 0;
  std::uint8_t size = 0;  // 0: the instruction has no such field
};

struct Memory {
  std::uint8_t base = no_register;
  std::uint8_t index = no_register;
  bool varies = false;   // the place also depends on a vector or on the number of a bit
  bool foreign = false;  // through fs or gs
  bool pc_relative = false;
  std::int64_t displacement = 0;
  std::uint64_t target = 0;   // the place, if it is pc-relative
  NumberField field;          // of the displacement
  std::uint32_t stored = 0;   // bytes that the instruction may write there, or any_bytes
  std::uint32_t aligned = 0;  // the place is a multiple of it, as the instruction faults otherwise

  [[nodiscard]] bool is_indexed() const { return index != no_register || varies; }
};

// An instruction as a value: what it does, its operands and their sizes, and the registers it reads
// and writes. The passes read only this value. If an instruction is not recognised, there is no
// value; if only a part of its effect is known, the value says that it may store.
struct Instruction {
  enum class Does : std::uint8_t {
    other,  // what it writes is made from what it reads
    nothing,
    move,
    move_if,
    address,  // to = the address of the memory operand
    add,
    subtract,
    compare,  // it may also exchange
    mask,     // bitwise and
    shift_right,
    string,
    push,
    pop,
    leave,
    call,
    jump,
    branch,
    jump_anywhere,
    ret,
    return_anywhere,  // it takes the stack pointer from memory or from a register
    end,
    kernel,  // it may write to everything whose address it was given
  };
  Does does = Does::other;
  std::uint8_t length = 0;
  std::uint8_t bits = 0;               // size of the first operand; 0: unknown
  std::uint8_t to = no_register;       // the first operand, if it is a register and is written
  std::uint8_t from = no_register;     // the second operand, or what is pushed
  bool padding = false;                // it fills the space between functions
  bool writes_flags = false;           // at least one that conditions look at
  bool asks_for_order = false;         // it reads a flag that says which of two numbers is larger
  bool passes_on = false;              // it passes what it reads to where nobody follows it
  Registers reads = 0;                 // without registers in addresses
  Registers writes = 0;                // as a whole or a part
  Registers halves = 0;                // it writes 32 bits and so clears the upper half
  Registers stores_by = 0;             // it stores from there on, besides its memory operand
  std::optional<std::int64_t> number;  // an operand; or bytes that are pushed or popped
  NumberField number_field;
  std::optional<Memory> memory;
  std::uint32_t offset = 0;  // from the start of the code that is read
  std::uint64_t address = 0;
  std::uint64_t target = 0;  // of a direct call or jump, or 0

  [[nodiscard]] std::uint32_t end() const { return offset + length; }
  [[nodiscard]] std::uint32_t stored() const { return memory ? memory->stored : 0; }

  // Whether control never reaches the next instruction, unless it comes back from a call.
  [[nodiscard]] bool ends_here() const {
    return does == Does::jump || does == Does::jump_anywhere || does == Does::ret ||
           does == Does::return_anywhere || does == Does::end;
  }

  // The forms that move or change 64 bits, and so may handle addresses.
  [[nodiscard]] bool is_whole(Does what) const { return does == what && bits == 64; }
  [[nodiscard]] bool copies() const {
    return is_whole(Does::move) && to != no_register && from != no_register;
  }
  [[nodiscard]] bool loads() const {
    return is_whole(Does::move) && to != no_register && memory.has_value();
  }
  [[nodiscard]] bool stores() const {
    return is_whole(Does::move) && from != no_register && memory.has_value();
  }
  // Whether it subtracts a number that nobody knows from the register `to`.
  [[nodiscard]] bool lowers() const {
    return is_whole(Does::subtract) && to != no_register && !number;
  }
  // The number that the instruction adds to the register `to`, if it does only that.
  [[nodiscard]] std::optional<std::int64_t> added() const {
    if (to == no_register || !number) return std::nullopt;
    if (is_whole(Does::add)) return *number;
    return is_whole(Does::subtract) ? std::optional(-*number) : std::nullopt;
  }
  // The number of which the instruction makes the register `to` a multiple, if it is a power of 2.
  [[nodiscard]] std::optional<std::int64_t> alignment() const {
    const std::int64_t mask = number.value_or(0);
    const bool aligns = is_whole(Does::mask) && to != no_register && mask < 0 && mask > INT64_MIN &&
                        (-mask & (-mask - 1)) == 0;
    return aligns ? std::optional(-mask) : std::nullopt;
  }
};

// Returns the first instruction of the code, which lies at this address, or nothing if the bytes
// are not an instruction that is known.
std::optional<Instruction> read_instruction(std::span<const std::uint8_t> code,
                                            std::uint64_t address);

// Calls `each` for one instruction after the other. Returns false at the first bytes that are not
// an instruction, and reads no further.
template <class Each>
bool for_each_instruction(std::span<const std::uint8_t> code, std::uint64_t address, Each each) {
  for (std::uint32_t offset = 0; offset < code.size();) {
    auto next = read_instruction(code.subspan(offset), address + offset);
    if (!next) return false;
    next->offset = offset;
    offset += next->length;
    each(*next);
  }
  return true;
}

// Returns the instructions up to the first bytes that are not one.
std::vector<Instruction> read_instructions(std::span<const std::uint8_t> code,
                                           std::uint64_t address);

// A pc-relative field of an instruction.
struct Operand {
  enum class Use : std::uint8_t {
    call,
    jump,
    address,  // lea
    access,   // any other memory operand
  };
  std::uint32_t offset = 0;  // from the start of the function to the field
  std::uint32_t size = 0;    // bytes in the field
  std::uint64_t target = 0;
  Use use = Use::access;

  [[nodiscard]] bool is_branch() const { return use == Use::call || use == Use::jump; }
};

// Returns the instruction's pc-relative field, if there is one. Its offset counts from where
// Instruction::offset counts from.
std::optional<Operand> pc_relative_field(const Instruction& instruction);

struct DecodedFunction {
  bool complete = false;               // every byte belongs to an instruction that is known
  bool open_end = false;               // control may run past the last byte
  bool jumps_anywhere = false;         // there is a jump by a register or by memory
  bool calls = false;                  // there is a call
  bool calls_anywhere = false;         // there is a call by a register or by memory
  bool takes_return_address = false;   // reads or changes it, as far as its beginning shows
  bool sets_stack_pointer = false;     // other than by pushing, popping, and adding numbers
  bool may_set_stack_pointer = false;  // the same, in bytes behind an instruction that is not known
  // It accesses memory by registers that must hold multiples of this number, if it is above 16 and
  // the function did not align its frame itself.
  std::uint32_t needs_alignment = 0;
  Registers written = 0;  // by its instructions, other than by pops
  // The code writes a part of these registers, or 64 bits that come neither from a lea with rip
  // nor from a pop of the same register.
  Registers values = 0;
  std::vector<Operand> operands;  // sorted by offset
  std::vector<bool> starts;       // by offset: whether an instruction starts there
};

// Reads a function's machine code and lists the fields whose value depends on where the code lies.
DecodedFunction decode_function(std::span<const std::uint8_t> code, std::uint64_t address);

}  // namespace stab::instrumenter
