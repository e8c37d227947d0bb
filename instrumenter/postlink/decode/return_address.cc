// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/return_address.h"

#include <optional>

namespace stab::instrumenter {
namespace {

using Does = Instruction::Does;

class Watch {
 public:
  enum class Answer : std::uint8_t { go_on, no, yes };

  Answer look_at(const Instruction& next) {
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

 private:
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

  std::int64_t pushed_ = 0;             // bytes pushed since the return address
  std::optional<std::int64_t> in_rbp_;  // the value of pushed_ when rsp was copied to rbp
  Registers holders_ = 0;  // registers that hold the return address or something made from it
};

}  // namespace

bool takes_return_address(std::span<const Instruction> instructions) {
  Watch watch;
  for (const Instruction& next : instructions) {
    const Watch::Answer answer = watch.look_at(next);
    if (answer != Watch::Answer::go_on) return answer == Watch::Answer::yes;
  }
  return false;
}

}  // namespace stab::instrumenter
