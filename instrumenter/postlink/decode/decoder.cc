// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/decoder.h"

#include <algorithm>
#include <optional>

#include "instrumenter/postlink/decode/return_address.h"

namespace stab::instrumenter {
namespace {

using Does = Instruction::Does;

std::optional<Operand> pc_relative_field(const Instruction& next) {
  using Use = Operand::Use;
  const auto field = [&](NumberField at, std::uint64_t target, Use use) {
    return Operand{next.offset + at.at, at.size, target, use};
  };
  if (next.memory && next.memory->pc_relative)
    return field(next.memory->field, next.memory->target,
                 next.does == Does::address ? Use::address : Use::access);
  const bool branches =
      next.does == Does::call || next.does == Does::jump || next.does == Does::branch;
  if (!branches || next.number_field.size == 0) return std::nullopt;
  return field(next.number_field, next.target, next.does == Does::call ? Use::call : Use::jump);
}

// Whether the instruction adds a number to the stack pointer, and which.
std::optional<std::int64_t> added_to_stack_pointer(const Instruction& next) {
  if (next.to != rsp_number) return std::nullopt;
  const bool near =
      next.is_whole(Does::address) && next.memory->base == rsp_number && !next.memory->is_indexed();
  return near ? std::optional(next.memory->displacement) : next.added();
}

bool sets_stack_pointer(const Instruction& next) {
  if (!has(next.writes, rsp_number)) return false;
  switch (next.does) {
    case Does::push:
    case Does::call:
    case Does::ret:
      return false;
    case Does::pop:
      return next.to == rsp_number;
    default:
      return !added_to_stack_pointer(next);
  }
}

// Follows what pops take, as far as the same straight line of code pushed it. A pop of something
// deeper takes what another block saved.
class Pushed {
 public:
  // Whether the instruction pops a value that was not pushed from the same register.
  bool mixes(const Instruction& next) {
    const bool is_word = next.number == 8;
    if (next.does == Does::push && is_word) {
      stack_.push_back(next.from);
    } else if (next.does == Does::pop && is_word && next.to != rsp_number) {
      const bool any = !stack_.empty();
      const std::uint8_t taken = take();
      return any && next.to != no_register && taken != next.to;
    } else if (next.is_whole(Does::address) && next.to == rsp_number) {
      stack_.clear();
    } else if (const auto number = added_to_stack_pointer(next)) {
      grow(-*number);
    } else if (sets_stack_pointer(next) || next.ends_here()) {
      stack_.clear();
    } else if (next.does == Does::push || next.does == Does::pop) {
      stack_.assign(stack_.size(), no_register);
    } else if (next.stored() != 0 && next.memory->base == rsp_number) {
      overwrite(*next.memory);
    }
    return false;
  }

 private:
  // Forgets pushed values that the instruction may overwrite. If it stores at a constant distance
  // from rsp, it overwrites these slots only; otherwise it may overwrite any slot.
  void overwrite(const Memory& memory) {
    if (memory.is_indexed()) return stack_.assign(stack_.size(), no_register);
    const std::int64_t first = memory.displacement >> 3;
    const std::int64_t last = (memory.displacement + memory.stored - 1) >> 3;
    const auto size = static_cast<std::int64_t>(stack_.size());
    for (std::int64_t slot = std::max<std::int64_t>(first, 0); slot <= last && slot < size; ++slot)
      stack_[static_cast<std::size_t>(size - 1 - slot)] = no_register;
  }
  std::uint8_t take() {
    if (stack_.empty()) return no_register;
    const std::uint8_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  void grow(std::int64_t bytes) {
    constexpr std::int64_t most = 4096;
    if (bytes % 8 != 0 || bytes > most || bytes < -most) return stack_.clear();
    for (; bytes > 0; bytes -= 8) stack_.push_back(no_register);
    for (; bytes < 0; bytes += 8) take();
  }

  std::vector<std::uint8_t> stack_;
};

// A write of 32 bits clears the upper half, so it gives no address of a copy above 4 GB. The runtime
// uses these registers only for such copies (migrate.cc).
Registers values_written(const Instruction& next) {
  const bool address = (next.does == Does::pop && next.to != no_register && next.number == 8) ||
                       (next.is_whole(Does::address) && next.memory->pc_relative);
  return address ? Registers{0} : static_cast<Registers>(next.writes & ~next.halves);
}

}  // namespace

DecodedFunction decode_function(std::span<const std::uint8_t> code, std::uint64_t address) {
  constexpr std::size_t beginning = 64;
  DecodedFunction result;
  result.starts.resize(code.size());
  std::vector<Instruction> first;
  bool runs_on = true;
  Pushed pushed;
  result.complete = for_each_instruction(code, address, [&](const Instruction& next) {
    result.starts[next.offset] = true;
    if (next.end() <= beginning) first.push_back(next);
    if (const auto field = pc_relative_field(next)) result.operands.push_back(*field);
    result.jumps_anywhere |= next.does == Does::jump_anywhere;
    result.sets_stack_pointer |= sets_stack_pointer(next);
    result.values |= values_written(next);
    if (pushed.mixes(next)) result.values |= bit(next.to);
    // Some assemblers count padding after the last block as part of the function. A called function
    // need not return.
    const bool nops = next.padding && next.does == Does::nothing;
    if (!nops) runs_on = !next.padding && !next.ends_here() && next.does != Does::call;
  });
  result.takes_return_address = takes_return_address(first);
  result.open_end = result.complete && runs_on;
  return result;
}

}  // namespace stab::instrumenter
