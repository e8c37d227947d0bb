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
  std::uint32_t offset = 0;  // from the start of the function to the field
  std::uint32_t size = 0;    // bytes in the field
  std::uint64_t target = 0;
  Use use = Use::access;
};

struct DecodedFunction {
  bool complete = false;              // every byte belongs to an instruction that the decoder knows
  bool open_end = false;              // control may run past the last byte
  bool jumps_anywhere = false;        // there is a jump by a register or by memory
  bool takes_return_address = false;  // as far as return_address.h can tell
  bool sets_stack_pointer = false;    // other than by pushing, popping, and adding numbers
  // A bit for each register, as stack_moves.h numbers them: the code writes a part of the
  // register, or 64 bits that come neither from a lea with rip nor from a pop of the same
  // register.
  std::uint32_t values = 0;
  std::vector<Operand> operands;  // sorted by offset
  std::vector<bool> starts;       // by offset: whether an instruction starts there
};

// An instruction, reduced to its effect on the size of a frame.
struct StackStep {
  enum class Kind : std::uint8_t {
    other,    // changes neither the stack pointer nor, as far as is known, the flow of control
    push,     // by `value` bytes
    pop,      // by `value` bytes
    add,      // `value` to the stack pointer; `field` is the place of the number, if it has 32 bits
    align,    // rounds the stack pointer to a multiple of `value`
    save,     // rbp = rsp
    restore,  // rsp = rbp + `value`
    leave,    // rsp = rbp, pop rbp
    set,      // rsp = anything
    set_base,  // rbp = anything
    call,
    jump,    // to `target`
    branch,  // to `target`, or not
    ret,
    end,      // control does not reach the next instruction, or its target is unknown
    unknown,  // does something else to the stack pointer
  };
  enum class Base : std::uint8_t { none, rsp, rbp };
  Kind kind = Kind::other;
  Base base = Base::none;  // base of the memory operand, or of the lea
  bool indexed = false;
  bool is_address = false;  // the instruction is a lea
  bool pops_base = false;   // the instruction is pop %rbp
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

  // Returns an empty list unless every byte belongs to an instruction that the decoder knows.
  [[nodiscard]] std::vector<StackStep> stack_steps(std::span<const std::uint8_t> code,
                                                   std::uint64_t address) const;

  // Returns the moves up to the first byte that belongs to no instruction the decoder knows.
  [[nodiscard]] std::vector<StackMove> stack_moves(std::span<const std::uint8_t> code,
                                                   std::uint64_t address) const;

  // Follows the addresses of functions in registers, along all paths through this code. It does
  // not follow addresses that the program keeps in memory.
  [[nodiscard]] AddressUses address_uses(std::span<const std::uint8_t> code, std::uint64_t address,
                                         const AddressesTaken& taken) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stab::instrumenter
