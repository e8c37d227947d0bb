// SPDX-License-Identifier: MIT
// Reads a function's machine code and lists the fields whose value depends on where the code lies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "instrumenter/postlink/decode/instruction.h"

namespace stab::instrumenter {

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

struct DecodedFunction {
  bool complete = false;              // every byte belongs to an instruction that is known
  bool open_end = false;              // control may run past the last byte
  bool jumps_anywhere = false;        // there is a jump by a register or by memory
  bool takes_return_address = false;  // reads or changes it, as far as its beginning shows
  bool sets_stack_pointer = false;    // other than by pushing, popping, and adding numbers
  // The code writes a part of these registers, or 64 bits that come neither from a lea with rip
  // nor from a pop of the same register.
  Registers values = 0;
  std::vector<Operand> operands;  // sorted by offset
  std::vector<bool> starts;       // by offset: whether an instruction starts there
};

DecodedFunction decode_function(std::span<const std::uint8_t> code, std::uint64_t address);

}  // namespace stab::instrumenter
