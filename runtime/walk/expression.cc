// SPDX-License-Identifier: MIT
#include "runtime/walk/expression.h"

#include "runtime/walk/memory.h"
#include "runtime/walk/rules.h"

namespace stab::rt {
namespace {

constexpr uint32_t most_operands = 16;

class Evaluator {
 public:
  explicit Evaluator(Walk& walk) : walk_(walk) {}

  [[nodiscard]] uint64_t top() const { return count_ == 0 ? 0 : operands_[count_ - 1]; }
  [[nodiscard]] bool holds_result() const { return count_ != 0 && !failed_; }

  bool push(uint64_t value) {
    if (count_ == most_operands) return fail();
    operands_[count_++] = value;
    return true;
  }

  bool run_one(ByteReader& code) {
    const uint8_t operation = code.byte();
    if (operation >= 0x30 && operation <= 0x4f) return push(operation - 0x30u);
    if (operation >= 0x70 && operation <= 0x8f) return push_register(operation - 0x70u, code);
    if (operation >= 0x08 && operation <= 0x11) return push_constant(operation, code);
    if (operation >= 0x29 && operation <= 0x2e) return compare(operation);
    if (operation >= 0x1a && operation <= 0x27) return compute(operation, code);
    return run_other(operation, code);
  }

 private:
  bool fail() {
    failed_ = true;
    return false;
  }

  uint64_t pop() {
    if (count_ == 0) {
      failed_ = true;
      return 0;
    }
    return operands_[--count_];
  }

  bool push_register(uint64_t number, ByteReader& code) {
    const auto offset = static_cast<uint64_t>(code.sleb());
    if (number == return_column) return push(walk_.pc + offset);
    if (number >= register_count || !walk_.registers.is_known(static_cast<uint32_t>(number)))
      return fail();
    return push(walk_.registers.value[number] + offset);
  }

  bool push_constant(uint8_t operation, ByteReader& code) {
    if (operation == 0x10) return push(code.uleb());
    if (operation == 0x11) return push(static_cast<uint64_t>(code.sleb()));
    const uint32_t bytes = 1u << ((operation - 0x08) / 2);
    const bool is_signed = operation % 2 != 0;
    return push(is_signed ? static_cast<uint64_t>(code.fixed_signed(bytes)) : code.fixed(bytes));
  }

  bool compare(uint8_t operation) {
    const auto right = static_cast<int64_t>(pop());
    const auto left = static_cast<int64_t>(pop());
    switch (operation) {
      case 0x29:
        return push(left == right ? 1 : 0);
      case 0x2a:
        return push(left >= right ? 1 : 0);
      case 0x2b:
        return push(left > right ? 1 : 0);
      case 0x2c:
        return push(left <= right ? 1 : 0);
      case 0x2d:
        return push(left < right ? 1 : 0);
      default:
        return push(left != right ? 1 : 0);
    }
  }

  bool compute(uint8_t operation, ByteReader& code) {
    const uint64_t right = pop();
    switch (operation) {
      case 0x1f:
        return push(0 - right);
      case 0x20:
        return push(~right);
      case 0x23:  // plus_uconst
        return push(right + code.uleb());
      default:
        return combine(operation, pop(), right);
    }
  }

  bool combine(uint8_t operation, uint64_t left, uint64_t right) {
    const uint64_t shift = right & 63;
    const bool beyond = right > 63;
    switch (operation) {
      case 0x1a:
        return push(left & right);
      case 0x1c:
        return push(left - right);
      case 0x1e:
        return push(left * right);
      case 0x21:
        return push(left | right);
      case 0x22:
        return push(left + right);
      case 0x24:
        return push(beyond ? 0 : left << shift);
      case 0x25:
        return push(beyond ? 0 : left >> shift);
      case 0x26:
        return push(static_cast<uint64_t>(static_cast<int64_t>(left) >> (beyond ? 63 : shift)));
      case 0x27:
        return push(left ^ right);
      default:
        return fail();
    }
  }

  bool run_other(uint8_t operation, ByteReader& code) {
    switch (operation) {
      case 0x06:
        return dereference();
      case 0x94:  // deref_size
        return code.byte() == 8 ? dereference() : fail();
      case 0x12:  // dup
        return count_ == 0 ? fail() : push(top());
      case 0x13:  // drop
        pop();
        return !failed_;
      case 0x16:
        return swap();
      case 0x92: {
        const uint64_t number = code.uleb();
        return push_register(number, code);
      }
      case 0x96:  // nop
        return true;
      default:
        return fail();
    }
  }

  bool dereference() {
    uint64_t value = 0;
    const uint64_t address = pop();
    return !failed_ && read_stack(walk_, address, value) ? push(value) : fail();
  }

  bool swap() {
    const uint64_t right = pop();
    const uint64_t left = pop();
    return push(right) && push(left);
  }

  Walk& walk_;
  uint64_t operands_[most_operands];
  uint32_t count_ = 0;
  bool failed_ = false;
};

}  // namespace

bool evaluate(Walk& walk, ByteReader operations, const uint64_t* cfa, uint64_t& result) {
  Evaluator evaluator(walk);
  if (cfa != nullptr) evaluator.push(*cfa);
  while (!operations.at_end())
    if (!evaluator.run_one(operations) || operations.failed()) return false;
  if (operations.failed() || !evaluator.holds_result()) return false;
  result = evaluator.top();
  return true;
}

}  // namespace stab::rt
