// SPDX-License-Identifier: MIT
// Reads machine code with LLVM's disassembler and lists the fields whose value depends on where the
// code lies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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
  bool complete = false;          // every byte belongs to an instruction that the decoder knows
  bool open_end = false;          // control may run past the last byte
  bool switches_stacks = false;   // sets the stack pointer to something that is not its own frame
  std::vector<Operand> operands;  // by offset
  std::vector<bool> starts;       // of instructions, by offset
};

class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  [[nodiscard]] DecodedFunction decode(std::span<const std::uint8_t> code,
                                       std::uint64_t address) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stab::instrumenter
