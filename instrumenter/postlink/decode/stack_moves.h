// SPDX-License-Identifier: MIT
// Describes how instructions copy addresses of the stack between registers and memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace stab::instrumenter {

// Registers are numbered as in the encoding of instructions.
constexpr std::uint8_t rax_number = 0;
constexpr std::uint8_t rcx_number = 1;
constexpr std::uint8_t rsp_number = 4;
constexpr std::uint8_t rbp_number = 5;
constexpr std::uint8_t rdi_number = 7;
constexpr std::uint8_t no_register = 16;
constexpr std::size_t register_count = 16;

struct StackMove {
  enum class Kind : std::uint8_t {
    other,    // `writes` get a value that is made from `reads`
    copy,     // to = from
    load,     // to = memory
    store,    // memory = from
    address,  // to = the address of the memory operand
    add,      // to += value
    align,    // rounds `to` to a multiple of a number
    lower,    // to -= from, or to -= memory
    push,
    pop,
    leave,
    call,
    jump,
    branch,
    jump_anywhere,
    ret,
    end,
  };
  Kind kind = Kind::other;
  std::uint8_t to = no_register;
  std::uint8_t from = no_register;
  std::uint16_t writes = 0;     // a bit for each register
  std::uint16_t reads = 0;      // the same, without registers in addresses
  std::uint16_t stores_by = 0;  // it stores from these addresses on, besides its memory operand
  bool has_memory = false;
  bool foreign = false;  // through a segment register
  bool padding = false;
  bool passes_on = false;           // passes what it reads to where nobody follows it
  bool kernel = false;              // may write to everything whose address it was given
  std::uint8_t base = no_register;  // base register of the memory operand
  std::uint8_t index = no_register;
  std::int64_t displacement = 0;
  std::uint32_t stored_bytes = 0;  // bytes stored to memory, or 0
  std::int64_t value = 0;
  std::uint64_t address = 0;  // where the instruction lies
  std::uint64_t target = 0;
  std::uint32_t length = 0;
};

}  // namespace stab::instrumenter
