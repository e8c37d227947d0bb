// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/return_address.h"

#include <optional>

namespace stab::instrumenter {
namespace {

using Kind = StackMove::Kind;

// Compiled code passes nothing to its caller in rbx, rbp and r12 to r15.
constexpr std::uint16_t preserved = 0b1111'0000'0010'1000;

class Watch {
 public:
  enum class Answer : std::uint8_t { go_on, no, yes };

  Answer look_at(const StackMove& move) {
    if (move.padding) return Answer::go_on;
    if (move.has_memory && move.kind != Kind::address) {
      // Compiled code looks at most at the call, which lies before the return address.
      const bool behind = move.index == no_register && move.displacement >= 0;
      if (behind && holds(move.base)) return Answer::yes;
      if (is_return_address(move) && move.stored_bytes != 0) return Answer::yes;
    }
    switch (move.kind) {
      case Kind::push:
        pushed_ += move.value;
        return Answer::go_on;
      case Kind::pop:
        return pop(move);
      case Kind::load:
        return set(move.to, is_return_address(move));
      case Kind::copy:
        if (move.to == rbp_number) in_rbp_.reset();
        if (move.to == rbp_number && move.from == rsp_number) in_rbp_ = pushed_;
        return set(move.to, holds(move.from));
      case Kind::address:
        return set(move.to, holds(move.base) || holds(move.index));
      case Kind::add:
        return add(move);
      case Kind::branch:
        return Answer::go_on;
      case Kind::ret:
        return (holders_ & preserved) != 0 ? Answer::yes : Answer::no;
      case Kind::jump_anywhere:
        return (move.reads & holders_) != 0 ? Answer::yes : Answer::no;
      case Kind::other:
        holders_ &= static_cast<std::uint16_t>(~move.writes);
        return (move.writes >> rsp_number & 1U) != 0 ? Answer::no : Answer::go_on;
      default:
        return Answer::no;
    }
  }

 private:
  [[nodiscard]] bool holds(std::uint8_t number) const {
    return number != no_register && (holders_ >> number & 1U) != 0;
  }

  [[nodiscard]] bool is_return_address(const StackMove& move) const {
    if (move.foreign || move.index != no_register) return false;
    if (move.base == rsp_number) return move.displacement == pushed_;
    return move.base == rbp_number && in_rbp_ && move.displacement == *in_rbp_;
  }

  Answer set(std::uint8_t number, bool holds_it) {
    if (number == rsp_number) return Answer::no;
    const auto bit = static_cast<std::uint16_t>(1U << number);
    holders_ = static_cast<std::uint16_t>(holds_it ? holders_ | bit : holders_ & ~bit);
    return Answer::go_on;
  }

  Answer pop(const StackMove& move) {
    if (pushed_ == 0) return Answer::yes;
    pushed_ -= move.value;
    return move.to == no_register ? Answer::go_on : set(move.to, false);
  }

  Answer add(const StackMove& move) {
    if (move.to != rsp_number) return Answer::go_on;
    pushed_ -= move.value;
    return pushed_ < 0 ? Answer::yes : Answer::go_on;
  }

  std::int64_t pushed_ = 0;             // bytes pushed since the return address
  std::optional<std::int64_t> in_rbp_;  // the value of pushed_ when rsp was copied to rbp
  std::uint16_t holders_ = 0;  // registers that hold the return address or something made from it
};

}  // namespace

bool takes_return_address(std::span<const StackMove> moves) {
  Watch watch;
  for (const StackMove& move : moves) {
    const Watch::Answer answer = watch.look_at(move);
    if (answer != Watch::Answer::go_on) return answer == Watch::Answer::yes;
  }
  return false;
}

}  // namespace stab::instrumenter
