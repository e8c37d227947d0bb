// SPDX-License-Identifier: MIT
// How instructions copy addresses of the stack between registers and memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace stab::instrumenter {

// Registers are numbered as instructions number them.
constexpr std::uint8_t rax_number = 0;
constexpr std::uint8_t rcx_number = 1;
constexpr std::uint8_t rsp_number = 4;
constexpr std::uint8_t rbp_number = 5;
constexpr std::uint8_t rdi_number = 7;
constexpr std::uint8_t no_register = 16;
constexpr std::size_t register_count = 16;

struct StackMove {
  enum class Kind : std::uint8_t {
    other,    // `writes` get something, made of `reads`
    copy,     // to = from
    load,     // to = memory
    store,    // memory = from
    address,  // to = the address of the memory operand
    add,      // to += value
    align,    // to a multiple of a number
    lower,    // to -= from, or memory
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
  std::uint16_t reads = 0;      // not for addresses
  std::uint16_t stores_by = 0;  // from there on, beside what the memory operand says
  bool has_memory = false;
  bool foreign = false;  // by way of a segment register
  bool padding = false;
  bool passes_on = false;           // what it reads, to where it is not followed
  bool kernel = false;              // may write whatever it has been given the address of
  std::uint8_t base = no_register;  // of the memory operand
  std::uint8_t index = no_register;
  std::int64_t displacement = 0;
  std::uint32_t stored_bytes = 0;  // to memory; 0: none
  std::int64_t value = 0;
  std::uint64_t address = 0;  // of the instruction
  std::uint64_t target = 0;
  std::uint32_t length = 0;
};

}  // namespace stab::instrumenter
