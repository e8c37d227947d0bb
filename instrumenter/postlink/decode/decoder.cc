// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/decoder.h"

#include <algorithm>
#include <optional>

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

// Whether a function that begins like this uses its return address for more than returning: it
// reads the bytes there, returns behind it, or passes it to its caller. Looks no further than the
// first call, jump or return.
class ReturnAddressWatch {
 public:
  void look_at(const Instruction& next) {
    if (answer_ == Answer::go_on) answer_ = answer_to(next);
  }
  [[nodiscard]] bool takes_return_address() const { return answer_ == Answer::yes; }

 private:
  enum class Answer : std::uint8_t { go_on, no, yes };

  Answer answer_to(const Instruction& next) {
    if (next.padding) return Answer::go_on;
    if (next.memory && next.does != Does::address) {
      // Compiled code looks at most at the call, which lies before the return address.
      const bool behind = !next.memory->is_indexed() && next.memory->displacement >= 0;
      if (behind && holds(next.memory->base)) return Answer::yes;
      if (next.stored() != 0 && is_return_address(*next.memory)) return Answer::yes;
    }
    switch (next.does) {
      case Does::push:
        pushed_ += *next.number;
        return Answer::go_on;
      case Does::pop:
        return pop(next);
      case Does::branch:
      case Does::nothing:
        return Answer::go_on;
      case Does::ret:
        // Compiled code passes nothing to its caller in these registers.
        return (holders_ & preserved_by_calls) != 0 ? Answer::yes : Answer::no;
      case Does::jump_anywhere:
        return (next.reads & holders_) != 0 ? Answer::yes : Answer::no;
      case Does::leave:
      case Does::call:
      case Does::jump:
      case Does::return_anywhere:
      case Does::end:
        return Answer::no;
      default:
        return look_at_value(next);
    }
  }

  [[nodiscard]] bool holds(std::uint8_t number) const { return (holders_ & bit(number)) != 0; }

  [[nodiscard]] bool is_return_address(const Memory& memory) const {
    if (memory.foreign || memory.is_indexed()) return false;
    if (memory.base == rsp_number) return memory.displacement == pushed_;
    return memory.base == rbp_number && in_rbp_ && memory.displacement == *in_rbp_;
  }

  Answer look_at_value(const Instruction& next) {
    if (next.loads()) return set(next.to, is_return_address(*next.memory));
    if (next.copies()) {
      if (next.to == rbp_number) in_rbp_.reset();
      if (next.to == rbp_number && next.from == rsp_number) in_rbp_ = pushed_;
      return set(next.to, holds(next.from));
    }
    if (next.is_whole(Does::address))
      return set(next.to, holds(next.memory->base) || holds(next.memory->index));
    if (next.added()) return add(next);
    if (next.alignment() || next.lowers() || next.stores()) return Answer::no;
    holders_ &= static_cast<Registers>(~next.writes);
    return has(next.writes, rsp_number) ? Answer::no : Answer::go_on;
  }

  Answer set(std::uint8_t number, bool holds_it) {
    if (number == rsp_number) return Answer::no;
    holders_ = static_cast<Registers>(holds_it ? holders_ | bit(number) : holders_ & ~bit(number));
    return Answer::go_on;
  }

  Answer pop(const Instruction& next) {
    if (pushed_ == 0) return Answer::yes;
    pushed_ -= *next.number;
    return next.to == no_register ? Answer::go_on : set(next.to, false);
  }

  Answer add(const Instruction& next) {
    if (next.to != rsp_number) return Answer::go_on;
    pushed_ -= *next.added();
    return pushed_ < 0 ? Answer::yes : Answer::go_on;
  }

  Answer answer_ = Answer::go_on;
  std::int64_t pushed_ = 0;             // bytes pushed since the return address
  std::optional<std::int64_t> in_rbp_;  // the value of pushed_ when rsp was copied to rbp
  Registers holders_ = 0;  // registers that hold the return address or something made from it
};

}  // namespace

DecodedFunction decode_function(std::span<const std::uint8_t> code, std::uint64_t address) {
  constexpr std::size_t beginning = 64;
  DecodedFunction result;
  result.starts.resize(code.size());
  bool runs_on = true;
  Pushed pushed;
  ReturnAddressWatch watch;
  result.complete = for_each_instruction(code, address, [&](const Instruction& next) {
    result.starts[next.offset] = true;
    if (next.end() <= beginning) watch.look_at(next);
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
  result.takes_return_address = watch.takes_return_address();
  result.open_end = result.complete && runs_on;
  return result;
}

}  // namespace stab::instrumenter
