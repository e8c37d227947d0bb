// SPDX-License-Identifier: MIT
#include "runtime/walk/frame.h"

#include <stddef.h>

#include "runtime/base/os.h"
#include "runtime/walk/description.h"

namespace stab::rt {
namespace {

// The length of an indirect call or far call, from its opcode on, or 0 if it is another
// instruction.
uint32_t indirect_call_length(const uint8_t* opcode, uint32_t count) {
  if (count < 2 || opcode[0] != 0xff) return 0;
  const uint8_t mode = opcode[1] >> 6;
  const uint8_t action = opcode[1] >> 3 & 7;
  const uint8_t base = opcode[1] & 7;
  if (action != 2 && (action != 3 || mode == 3)) return 0;
  if (mode == 3) return 2;
  const bool has_sib = base == 4;
  if (has_sib && count < 3) return 0;
  const uint32_t length = has_sib ? 3 : 2;
  if (mode == 1) return length + 1;
  if (mode == 2) return length + 4;
  const bool has_displacement = has_sib ? (opcode[2] & 7) == 5 : base == 5;
  return length + (has_displacement ? 4 : 0);
}

bool matches(const uint8_t* code, const uint8_t* pattern, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    if (code[i] != pattern[i]) return false;
  return true;
}

constexpr uint8_t long_trampoline[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr uint8_t short_trampoline[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};

bool is_jump_through_got(const uint8_t* at) {
  return at[0] == 0xff && at[1] == 0x25;
}
bool is_push_of_got(const uint8_t* at) {
  return at[0] == 0xff && at[1] == 0x35;
}
// push index; jmp to the first entry
bool is_lazy_pair(const uint8_t* at) {
  return at[0] == 0x68 && at[5] == 0xe9;
}
// In mold's PLT an entry loads the index into r11, and the PLT's first entry pushes it.
bool is_index_load(const uint8_t* at) {
  return at[0] == 0x41 && at[1] == 0xbb && is_jump_through_got(at + 6);
}
bool is_index_push(const uint8_t* at) {
  return at[0] == 0x41 && at[1] == 0x53 && is_push_of_got(at + 2);
}
// The beginnings that may follow an endbr64.
bool is_beginning(const uint8_t* at) {
  return is_jump_through_got(at) || is_lazy_pair(at) || is_index_load(at) || is_index_push(at);
}

}  // namespace

bool ends_with_call(const uint8_t* end, uint32_t count) {
  if (count >= 5 && end[-5] == 0xe8) return true;
  for (uint32_t length = 2; length <= longest_call && length <= count; ++length)
    if (indirect_call_length(end - length, length) == length) return true;
  return false;
}

bool is_trampoline(const uint8_t* code, uint32_t count) {
  return (count >= sizeof long_trampoline &&
          matches(code, long_trampoline, sizeof long_trampoline)) ||
         (count >= sizeof short_trampoline &&
          matches(code, short_trampoline, sizeof short_trampoline));
}

bool is_trampoline_end(const uint8_t* at, uint32_t count) {
  return (count >= 7 && is_trampoline(at - 7, 9)) || (count >= 5 && is_trampoline(at - 5, 7));
}

int plt_pushed(const uint8_t* at) {
  if (matches(at, endbr, sizeof endbr)) return is_beginning(at + sizeof endbr) ? 0 : plt_no;
  if (is_jump_through_got(at) && is_push_of_got(at - 6)) return 16;
  if (is_beginning(at)) return 0;
  if (at[0] == 0xe9 && at[-5] == 0x68) return 8;
  if (is_push_of_got(at) && is_jump_through_got(at + 6)) return 8;
  return plt_no;
}

namespace {

constexpr uint64_t user_end = uint64_t{1} << 63;

uint64_t page_of(uint64_t address) {
  return address & -os::page_size;
}

bool code_readable(Walk& walk, uint64_t address) {
  if (walk.code == Walk::Code::described &&
      address - walk.description.function_start < walk.description.function_size)
    return true;
  const uint64_t page = page_of(address);
  if (page == walk.readable_code) return true;
  if (address >= user_end || !os::readable(page)) return false;
  walk.readable_code = page;
  return true;
}

}  // namespace

void begin_stack(Walk& walk, uint64_t stack_pointer) {
  walk.readable_start = page_of(stack_pointer - red_zone);
  walk.readable_end = walk.readable_start;
}

bool read_stack(Walk& walk, uint64_t address, uint64_t& value) {
  if (address % sizeof value != 0 || address >= user_end || address < walk.readable_start ||
      address - walk.readable_start >= most_stack)
    return false;
  while (address >= walk.readable_end) {
    if (!os::readable(walk.readable_end)) return false;
    walk.readable_end += os::page_size;
  }
  value = load64(reinterpret_cast<const void*>(address));
  return true;
}

bool read_code(Walk& walk, uint64_t address, uint8_t* to, uint32_t count) {
  if (address + count < address) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (!code_readable(walk, address + i)) return false;
    to[i] = *reinterpret_cast<const uint8_t*>(address + i);
  }
  return true;
}

namespace {

constexpr uint8_t places[register_count] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                            REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                            REG_R12, REG_R13, REG_R14, REG_R15};

}  // namespace

void take_registers(Walk& walk, greg_t* kept) {
  for (uint32_t i = 0; i < register_count; ++i) {
    walk.registers.set(i, load64(kept + places[i]));
    walk.saved[i] = reinterpret_cast<uint64_t*>(kept + places[i]);
  }
  walk.pc = load64(kept + REG_RIP);
  walk.pc_slot = reinterpret_cast<uint64_t*>(kept + REG_RIP);
  walk.interrupted = true;
}

bool read_signal_frame(Walk& walk, Walk& caller) {
  constexpr uint64_t offset = offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, gregs);
  constexpr uint64_t user_code = 0x33;  // the only 64-bit code segment of programs
  const uint64_t kept = walk.registers.value[rsp] + offset;
  uint64_t first = 0;
  uint64_t segments = 0;
  // If two words are readable, all words between them are readable too.
  if (!read_stack(walk, kept, first) || !read_stack(walk, kept + 8 * REG_CSGSFS, segments) ||
      (segments & 0xffff) != user_code)
    return false;
  take_registers(caller, reinterpret_cast<greg_t*>(kept));
  return true;
}

void keep_stack(const Walk& walk, Walk& caller) {
  caller.readable_start = walk.readable_start;
  caller.readable_end = walk.readable_end;
  caller.readable_code = walk.readable_code;
  caller.stacks = walk.stacks;
}

bool change_stack(const Walk& walk, Walk& caller) {
  const uint64_t from = walk.registers.value[rsp];
  const uint64_t to = caller.registers.value[rsp];
  if (to > from && to < walk.readable_end) return true;
  if (++caller.stacks > most_stacks) return false;
  begin_stack(caller, to);
  return true;
}

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

namespace {

// A call preserves rbx, rbp and r12 to r15.
constexpr uint32_t preserved = 1u << 3 | 1u << rbp | 0xf000u;

bool is_preserved(uint32_t number) {
  return (preserved >> number & 1) != 0;
}

uint64_t* word_at(uint64_t address) {
  return reinterpret_cast<uint64_t*>(address);
}

// Unwinds the frame that the walk is at, and fills in its caller.
class Unwinding {
 public:
  Unwinding(Walk& walk, const Row& row, bool signal_frame)
      : walk_(walk), row_(row), signal_frame_(signal_frame) {}

  bool run(Walk& caller) {
    if (!find_cfa() || !find_return_address(caller)) return false;
    if (!signal_frame_ && !cfa_is_above()) return false;
    for (uint32_t number = 0; number < register_count; ++number) find_register(caller, number);
    caller.interrupted = signal_frame_;
    return find_stack_pointer(caller);
  }

 private:
  bool find_cfa() {
    if (row_.cfa_is_expression)
      return evaluate(walk_, expression_of(walk_.description, row_.cfa_number), nullptr, cfa_);
    if (!walk_.registers.is_known(row_.cfa_register)) return false;
    cfa_ = walk_.registers.value[row_.cfa_register] + static_cast<uint64_t>(row_.cfa_number);
    return true;
  }

  // Only a function that has taken its return address off the stack has an empty frame.
  [[nodiscard]] bool cfa_is_above() const {
    const uint64_t stack_pointer = walk_.registers.value[rsp];
    const bool leaf = walk_.interrupted && row_.rules[return_column] == Rule::other;
    return cfa_ % 8 == 0 && (cfa_ > stack_pointer || (leaf && cfa_ == stack_pointer)) &&
           cfa_ - walk_.readable_start < most_stack;
  }

  // A frame lies between its stack pointer and its CFA.
  [[nodiscard]] bool in_frame(uint64_t address) const {
    const uint64_t stack_pointer = walk_.registers.value[rsp];
    const uint64_t low = walk_.interrupted ? stack_pointer - red_zone : stack_pointer;
    return address >= low && (signal_frame_ || address < cfa_);
  }

  // Finds where in memory the value of a column is kept.
  bool find_slot(uint32_t column, uint64_t& address, uint64_t& value) {
    const int32_t number = row_.numbers[column];
    if (row_.rules[column] == Rule::offset)
      address = cfa_ + static_cast<uint64_t>(number);
    else if (row_.rules[column] != Rule::expression ||
             !evaluate(walk_, expression_of(walk_.description, number), &cfa_, address))
      return false;
    return in_frame(address) && read_stack(walk_, address, value);
  }

  bool find_return_address(Walk& caller) {
    if (row_.rules[return_column] == Rule::other) {
      const auto number = static_cast<uint32_t>(row_.numbers[return_column]);
      if (number >= register_count || !walk_.registers.is_known(number)) return false;
      caller.pc = walk_.registers.value[number];
      caller.pc_slot = walk_.saved[number];
      return caller.pc_slot != nullptr;
    }
    uint64_t address = 0;
    if (!find_slot(return_column, address, caller.pc)) return false;
    caller.pc_slot = word_at(address);
    return address >= walk_.registers.value[rsp];
  }

  void find_register(Walk& caller, uint32_t number) {
    switch (row_.rules[number]) {
      case Rule::unspecified:
        return is_preserved(number) ? keep(caller, number, number) : lose(caller, number);
      case Rule::same:
        return keep(caller, number, number);
      case Rule::offset:
      case Rule::expression:
        return load(caller, number);
      case Rule::other: {
        const auto from = static_cast<uint32_t>(row_.numbers[number]);
        return from < register_count ? keep(caller, number, from) : lose(caller, number);
      }
      case Rule::value_offset:
        lose(caller, number);
        return caller.registers.set(number, cfa_ + static_cast<uint64_t>(row_.numbers[number]));
      case Rule::value_formula:
      case Rule::undefined:
        return lose(caller, number);
    }
  }

  static void lose(Walk& caller, uint32_t number) {
    caller.registers.forget(number);
    caller.saved[number] = nullptr;
  }

  void keep(Walk& caller, uint32_t number, uint32_t from) {
    lose(caller, number);
    caller.saved[number] = walk_.saved[from];
    if (walk_.registers.is_known(from)) caller.registers.set(number, walk_.registers.value[from]);
  }

  void load(Walk& caller, uint32_t number) {
    uint64_t address = 0;
    uint64_t value = 0;
    if (!find_slot(number, address, value)) return lose(caller, number);
    // A value below the stack pointer was popped, so the register holds it again.
    const bool popped = address < walk_.registers.value[rsp] && walk_.registers.is_known(number) &&
                        walk_.registers.value[number] == value;
    if (popped) return keep(caller, number, number);
    caller.registers.set(number, value);
    caller.saved[number] = word_at(address);
  }

  // By definition, the CFA is the caller's stack pointer. Only signal frames have another rule.
  bool find_stack_pointer(Walk& caller) const {
    if (row_.rules[rsp] != Rule::unspecified)
      return signal_frame_ && caller.registers.is_known(rsp);
    lose(caller, rsp);
    caller.registers.set(rsp, cfa_);
    return true;
  }

  Walk& walk_;
  const Row& row_;
  const bool signal_frame_;
  uint64_t cfa_ = 0;
};

}  // namespace

bool unwind_frame(Walk& walk, const Row& row, bool signal_frame, Walk& caller) {
  return Unwinding(walk, row, signal_frame).run(caller);
}

}  // namespace stab::rt
