// SPDX-License-Identifier: MIT
// Reads machine code with LLVM's disassembler and lists the fields whose value depends on where the
// code lies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "instrumenter/postlink/decode/address_uses.h"
#include "instrumenter/postlink/decode/stack_moves.h"

namespace stab::instrumenter {

// A pc-relative field of an instruction.
struct Operand {
  enum class Use : std::uint8_t {
    branch,
    address,
    access
  };  // jmp/call, lea, any other memory operand
  std::uint32_t offset = 0;  // of the field, from the start of the function
  std::uint32_t size = 0;    // of the field in bytes
  std::uint64_t target = 0;
  Use use = Use::access;
};

struct DecodedFunction {
  bool complete = false;              // every byte belongs to an instruction that the decoder knows
  bool open_end = false;              // control may run past the last byte
  bool jumps_anywhere = false;        // by a register or by memory
  bool takes_return_address = false;  // as far as return_address.h sees
  bool sets_stack_pointer = false;    // not only by pushing, popping, and adding numbers
  // A part of them is written, or 64 bits that neither lea with rip nor a pop of the same register gives. As stack_moves.h
  // numbers registers.
  std::uint32_t values = 0;
  std::vector<Operand> operands;  // by offset
  std::vector<bool> starts;       // of instructions, by offset
};

// An instruction as far as it matters to the size of a frame.
struct StackStep {
  enum class Kind : std::uint8_t {
    other,    // changes neither the stack pointer nor, as far as is known, the flow of control
    push,     // by `value` bytes
    pop,      // by `value` bytes
    add,      // `value` to the stack pointer; `field` is the place of the number, if it has 32 bits
    align,    // the stack pointer to a multiple of `value`
    save,     // rbp = rsp
    restore,  // rsp = rbp + `value`
    leave,    // rsp = rbp, pop rbp
    set,      // rsp to anything
    set_base,  // rbp to anything
    call,
    jump,    // to `target`
    branch,  // to `target`, or not
    ret,
    end,      // control does not come to the next instruction, or nobody knows where it goes
    unknown,  // something that is done to the stack pointer
  };
  enum class Base : std::uint8_t { none, rsp, rbp };
  Kind kind = Kind::other;
  Base base = Base::none;  // of its memory operand (or lea), and then:
  bool indexed = false;
  bool is_address = false;  // lea
  bool pops_base = false;   // pop %rbp
  bool padding = false;
  std::int64_t displacement = 0;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t field = 0;
  std::int64_t value = 0;
  std::uint64_t target = 0;
};

class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  [[nodiscard]] DecodedFunction decode(std::span<const std::uint8_t> code,
                                       std::uint64_t address) const;

  // Empty if not every byte belongs to an instruction that the decoder knows.
  [[nodiscard]] std::vector<StackStep> stack_steps(std::span<const std::uint8_t> code,
                                                   std::uint64_t address) const;

  // As far as bytes belong to instructions that the decoder knows.
  [[nodiscard]] std::vector<StackMove> stack_moves(std::span<const std::uint8_t> code,
                                                   std::uint64_t address) const;

  // Follows the addresses of functions in registers, along all paths through this code. Memory is not
  // followed: what the program keeps there is not found.
  [[nodiscard]] AddressUses address_uses(std::span<const std::uint8_t> code, std::uint64_t address,
                                         const AddressesTaken& taken) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stab::instrumenter
