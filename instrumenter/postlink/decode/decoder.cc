// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/decoder.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <optional>

namespace stab::instrumenter {
namespace {

using Does = Instruction::Does;

// The general registers by Zydis's numbers of them and of their parts.
class RegisterTable {
 public:
  RegisterTable() {
    numbers_.fill(no_register);
    for (int i = ZYDIS_REGISTER_AL; i <= ZYDIS_REGISTER_R15; ++i) {
      const auto part = static_cast<ZydisRegister>(i);
      const auto whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, part);
      numbers_[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(whole - ZYDIS_REGISTER_RAX);
    }
  }
  [[nodiscard]] std::uint8_t operator[](ZydisRegister which) const {
    return numbers_[static_cast<std::size_t>(which)];
  }

 private:
  std::array<std::uint8_t, ZYDIS_REGISTER_MAX_VALUE + 1> numbers_;
};

std::uint8_t number_of(ZydisRegister which) {
  static const RegisterTable table;
  return table[which];
}

ZydisDecoder make_decoder() {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return decoder;
}

bool does_nothing(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_NOP || mnemonic == ZYDIS_MNEMONIC_ENDBR32 ||
         mnemonic == ZYDIS_MNEMONIC_ENDBR64;
}

Does operation_of(const ZydisDecodedInstruction& from) {
  if (does_nothing(from.mnemonic)) return Does::nothing;
  switch (from.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      return Does::move;
    case ZYDIS_MNEMONIC_LEA:
      return Does::address;
    case ZYDIS_MNEMONIC_ADD:
      return Does::add;
    case ZYDIS_MNEMONIC_SUB:
      return Does::subtract;
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_CMPXCHG:
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B:
      return Does::compare;
    case ZYDIS_MNEMONIC_AND:
      return Does::mask;
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SHRD:
    case ZYDIS_MNEMONIC_SHRX:
      return Does::shift_right;
    case ZYDIS_MNEMONIC_LEAVE:
      return from.operand_width == 64 ? Does::leave : Does::other;
    case ZYDIS_MNEMONIC_CALL:
      return Does::call;
    case ZYDIS_MNEMONIC_JMP:
      return from.raw.imm[0].is_relative ? Does::jump : Does::jump_anywhere;
    case ZYDIS_MNEMONIC_RET:
      return Does::ret;
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_UIRET:
      return Does::return_anywhere;
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
      return Does::end;
    default:
      break;
  }
  switch (from.meta.category) {
    case ZYDIS_CATEGORY_CMOV:
      return Does::move_if;
    case ZYDIS_CATEGORY_STRINGOP:
      return Does::string;
    case ZYDIS_CATEGORY_PUSH:
      return Does::push;
    case ZYDIS_CATEGORY_POP:
      return Does::pop;
    case ZYDIS_CATEGORY_COND_BR:
      return from.raw.imm[0].is_relative ? Does::branch : Does::other;
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSCALL:
      return Does::kernel;
    default:
      return Does::other;
  }
}

// Zydis doesn't say what such an instruction stores, or says too little.
bool may_store_more(ZydisInstructionCategory category) {
  switch (category) {
    case ZYDIS_CATEGORY_AMX_TILE:
    case ZYDIS_CATEGORY_CLZERO:
    case ZYDIS_CATEGORY_ENQCMD:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_INVALID:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_KEYLOCKER:
    case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
    case ZYDIS_CATEGORY_KNC:
    case ZYDIS_CATEGORY_PADLOCK:
    case ZYDIS_CATEGORY_PCONFIG:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_UINTR:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
      return true;
    default:
      return false;
  }
}

// Whether the instruction faults if its operand in memory is not a multiple of its size.
bool needs_alignment(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_VMOVAPD:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVDQA:
    case ZYDIS_MNEMONIC_VMOVDQA32:
    case ZYDIS_MNEMONIC_VMOVDQA64:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTDQA:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_VMOVNTPS:
      return true;
    default:
      return false;
  }
}

// Turns Zydis's description of one instruction into the value.
class InstructionReader {
 public:
  InstructionReader(const ZydisDecodedInstruction& from,
                    std::span<const ZydisDecodedOperand> operands, std::uint64_t address)
      : from_(from), operands_(operands) {
    to_.does = operation_of(from);
    to_.length = from.length;
    to_.address = address;
  }

  std::optional<Instruction> read() {
    if (has_useless_rex()) return std::nullopt;
    to_.padding = from_.mnemonic == ZYDIS_MNEMONIC_NOP || from_.mnemonic == ZYDIS_MNEMONIC_INT3;
    if (to_.does == Does::nothing) return to_;
    for (const ZydisDecodedOperand& operand : operands_)
      if (!read_operand(operand)) return std::nullopt;
    read_first_operands();
    if (!read_number()) return std::nullopt;
    adjust();
    return to_;
  }

 private:
  // Processors ignore a REX prefix that another prefix follows. Assemblers never write one, but
  // text looks like that.
  [[nodiscard]] bool has_useless_rex() const {
    constexpr unsigned rex = 0x40;
    for (unsigned i = 0; i + 1U < from_.raw.prefix_count; ++i)
      if ((from_.raw.prefixes[i].value & 0xf0U) == rex) return true;
    return false;
  }

  static bool reads(const ZydisDecodedOperand& operand) {
    // An operand that is written only on a condition may keep what it held.
    constexpr auto any = ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_CONDWRITE;
    return (operand.actions & any) != 0;
  }
  static bool writes(const ZydisDecodedOperand& operand) {
    return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  }

  // Returns false if the operand is not understood.
  bool read_operand(const ZydisDecodedOperand& operand) {
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) return read_memory(operand);
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) read_register(operand);
    return true;
  }

  void read_register(const ZydisDecodedOperand& operand) {
    const std::uint8_t number = number_of(operand.reg.value);
    if (reads(operand)) to_.reads |= bit(number);
    if (!writes(operand)) return;
    to_.writes |= bit(number);
    if (operand.size == 32) to_.halves |= bit(number);
    if (number == no_register && operand.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN)
      to_.passes_on = true;
  }

  // Calls and pushes use the stack, which Instruction::does tells already. Otherwise memory that
  // the encoding doesn't name is where a register leads.
  bool read_memory(const ZydisDecodedOperand& operand) {
    const bool is_named = operand.encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM ||
                          operand.encoding == ZYDIS_OPERAND_ENCODING_DISP16_32_64;
    if (!is_named) {
      if (uses_stack()) return true;
      const Registers base = bit(number_of(operand.mem.base));
      if (writes(operand)) to_.stores_by |= base;
      if (works_on_strings()) to_.writes |= base;
      to_.reads |= base;
      return true;
    }
    if (to_.memory || operand.mem.base == ZYDIS_REGISTER_EIP) return false;
    Memory& memory = to_.memory.emplace();
    memory.base = number_of(operand.mem.base);
    memory.index = number_of(operand.mem.index);
    memory.varies = (operand.mem.index != ZYDIS_REGISTER_NONE && memory.index == no_register) ||
                    has_number_of_bit();
    memory.foreign =
        operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS;
    memory.displacement = operand.mem.disp.has_displacement ? operand.mem.disp.value : 0;
    memory.field = {from_.raw.disp.offset, static_cast<std::uint8_t>(from_.raw.disp.size / 8)};
    memory.pc_relative = operand.mem.base == ZYDIS_REGISTER_RIP;
    if (memory.pc_relative)
      memory.target = to_.address + to_.length + static_cast<std::uint64_t>(memory.displacement);
    const bool accesses = operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN;
    const bool is_clear = reads(operand) || from_.meta.category == ZYDIS_CATEGORY_PREFETCH;
    if (writes(operand) || (accesses && !is_clear)) memory.stored = bytes_of(operand);
    if (needs_alignment(from_.mnemonic)) memory.aligned = operand.size / 8U;
    return true;
  }

  // Such an instruction moves its pointers on, which Zydis says of some of them only.
  [[nodiscard]] bool works_on_strings() const {
    return from_.meta.category == ZYDIS_CATEGORY_STRINGOP ||
           from_.meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
  }

  [[nodiscard]] bool uses_stack() const {
    return to_.does == Does::push || to_.does == Does::pop || to_.does == Does::call ||
           to_.does == Does::ret || to_.does == Does::leave || to_.does == Does::return_anywhere ||
           from_.mnemonic == ZYDIS_MNEMONIC_ENTER;
  }

  [[nodiscard]] std::uint32_t bytes_of(const ZydisDecodedOperand& operand) const {
    const bool unknown = operand.size < 8 || may_store_more(from_.meta.category);
    return unknown ? any_bytes : operand.size / 8U;
  }

  // Such a number counts from the memory operand on.
  [[nodiscard]] bool has_number_of_bit() const {
    const bool sets = from_.mnemonic == ZYDIS_MNEMONIC_BTC ||
                      from_.mnemonic == ZYDIS_MNEMONIC_BTR || from_.mnemonic == ZYDIS_MNEMONIC_BTS;
    return sets && operands_[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
  }

  void read_first_operands() {
    const std::size_t visible = from_.operand_count_visible;
    if (visible == 0) return;
    const ZydisDecodedOperand& first = operands_[0];
    to_.bits = static_cast<std::uint8_t>(first.size <= 64 ? first.size : 0);
    const auto register_of = [](const ZydisDecodedOperand& operand) {
      return operand.type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(operand.reg.value)
                                                         : no_register;
    };
    if (writes(first)) to_.to = register_of(first);
    if (visible > 1) to_.from = register_of(operands_[1]);
    if (to_.does == Does::push) to_.from = register_of(first);
  }

  bool read_number() {
    const auto& field = from_.raw.imm[0];
    if (field.size == 0) return true;
    to_.number_field = {field.offset, static_cast<std::uint8_t>(field.size / 8)};
    const unsigned unused = 64U - field.size;
    const std::int64_t number = static_cast<std::int64_t>(field.value.u << unused) >> unused;
    if (!field.is_relative) {
      to_.number = number;
      return true;
    }
    to_.target = to_.address + to_.length + static_cast<std::uint64_t>(number);
    // Processors differ in how many bytes such a branch has.
    return (from_.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) == 0 || from_.raw.rex.W != 0;
  }

  void read_flags() {
    constexpr auto order = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;
    constexpr auto conditions = order | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_ZF;
    const ZydisAccessedFlags* flags = from_.cpu_flags;
    if (flags == nullptr) return;
    to_.asks_for_order = (flags->tested & order) != 0;
    const auto written = flags->modified | flags->set_0 | flags->set_1 | flags->undefined;
    to_.writes_flags = (written & conditions) != 0;
  }

  void adjust() {
    read_flags();
    if (from_.mnemonic == ZYDIS_MNEMONIC_OR && to_.memory && to_.number == 0)
      to_.memory->stored = 0;  // barriers and stack probes store what was there before
    to_.passes_on |= to_.stored() != 0;
    if (from_.mnemonic == ZYDIS_MNEMONIC_XOR && to_.bits >= 32 && to_.to != no_register &&
        to_.to == to_.from)
      to_.reads = 0;
    constexpr auto repeats = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
    if (works_on_strings() && (from_.attributes & repeats) != 0) {
      to_.reads |= bit(rcx_number);
      to_.writes |= bit(rcx_number);
    }
    if (to_.does == Does::push || to_.does == Does::pop) to_.number = from_.operand_width / 8;
    if (to_.does == Does::return_anywhere || from_.mnemonic == ZYDIS_MNEMONIC_ENTER)
      to_.writes |= bit(rsp_number);
    if (may_store_more(from_.meta.category) && to_.stored() == 0) to_.stores_by |= to_.reads;
    if (from_.meta.category == ZYDIS_CATEGORY_PADLOCK) to_.writes |= to_.reads;
  }

  const ZydisDecodedInstruction& from_;
  const std::span<const ZydisDecodedOperand> operands_;
  Instruction to_;
};

}  // namespace

std::optional<Instruction> read_instruction(std::span<const std::uint8_t> code,
                                            std::uint64_t address) {
  static const ZydisDecoder decoder = make_decoder();
  ZydisDecoderContext context;
  ZydisDecodedInstruction instruction;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, code.data(), code.size(),
                                                  &instruction)))
    return std::nullopt;
  const std::uint8_t count = does_nothing(instruction.mnemonic) ? 0 : instruction.operand_count;
  if (count != 0 && !ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &instruction,
                                                             operands.data(), count)))
    return std::nullopt;
  return InstructionReader(instruction, std::span(operands).first(count), address).read();
}

std::vector<Instruction> read_instructions(std::span<const std::uint8_t> code,
                                           std::uint64_t address) {
  std::vector<Instruction> read;
  for_each_instruction(code, address, [&](const Instruction& next) { read.push_back(next); });
  return read;
}

std::optional<Operand> pc_relative_field(const Instruction& instruction) {
  using Use = Operand::Use;
  const auto field = [&](NumberField at, std::uint64_t target, Use use) {
    return Operand{instruction.offset + at.at, at.size, target, use};
  };
  if (instruction.memory && instruction.memory->pc_relative)
    return field(instruction.memory->field, instruction.memory->target,
                 instruction.does == Does::address ? Use::address : Use::access);
  const bool branches = instruction.does == Does::call || instruction.does == Does::jump ||
                        instruction.does == Does::branch;
  if (!branches || instruction.number_field.size == 0) return std::nullopt;
  return field(instruction.number_field, instruction.target,
               instruction.does == Does::call ? Use::call : Use::jump);
}

namespace {

// Facts about a function.

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

// A write of 32 bits clears the upper half, so it gives no address of a copy above 4 GB. The
// runtime uses these registers only for such copies (migrate.cc).
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

// Finds the alignment that a function expects of addresses, which may be places of the stack.
class AlignmentWatch {
 public:
  void look_at(const Instruction& next) {
    constexpr std::uint32_t always = 16;
    const auto aligned = next.to == rsp_number ? next.alignment() : std::nullopt;
    aligns_ |= aligned && *aligned > always;
    has_frame_pointer_ |= next.copies() && next.from == rsp_number && next.to == rbp_number;
    if (!next.memory || next.memory->aligned <= always || next.memory->base == no_register) return;
    std::uint32_t& largest = next.memory->base == rsp_number   ? by_rsp_
                             : next.memory->base == rbp_number ? by_rbp_
                                                               : by_others_;
    largest = std::max(largest, next.memory->aligned);
  }
  [[nodiscard]] std::uint32_t needed() const {
    std::uint32_t largest = by_others_;
    if (!aligns_) largest = std::max(largest, by_rsp_);
    if (!aligns_ || !has_frame_pointer_) largest = std::max(largest, by_rbp_);
    return largest;
  }

 private:
  bool aligns_ = false;
  bool has_frame_pointer_ = false;
  std::uint32_t by_rsp_ = 0;
  std::uint32_t by_rbp_ = 0;
  std::uint32_t by_others_ = 0;
};

}  // namespace

DecodedFunction decode_function(std::span<const std::uint8_t> code, std::uint64_t address) {
  constexpr std::size_t beginning = 64;
  DecodedFunction result;
  result.starts.resize(code.size());
  bool runs_on = true;
  Pushed pushed;
  ReturnAddressWatch watch;
  AlignmentWatch alignment;
  std::size_t known = 0;  // bytes before the first unknown instruction
  result.complete = for_each_instruction(code, address, [&](const Instruction& next) {
    result.starts[next.offset] = true;
    known = next.end();
    if (next.end() <= beginning) watch.look_at(next);
    alignment.look_at(next);
    if (const auto field = pc_relative_field(next)) result.operands.push_back(*field);
    result.jumps_anywhere |= next.does == Does::jump_anywhere;
    result.calls |= next.does == Does::call;
    result.calls_anywhere |= next.does == Does::call && next.target == 0;
    result.sets_stack_pointer |= sets_stack_pointer(next);
    result.values |= values_written(next);
    if (next.does != Does::pop) result.written |= next.writes;
    if (pushed.mixes(next)) result.values |= bit(next.to);
    // Some assemblers count padding after the last block as part of the function. A called function
    // need not return.
    const bool nops = next.padding && next.does == Does::nothing;
    if (!nops) runs_on = !next.padding && !next.ends_here() && next.does != Does::call;
  });
  // An instruction that is not known has an unknown length, too.
  for (std::size_t at = result.complete ? code.size() : known; at < code.size();) {
    const auto next = read_instruction(code.subspan(at), address + at);
    result.may_set_stack_pointer |= next && sets_stack_pointer(*next);
    at += next ? next->length : 1;
  }
  result.takes_return_address = watch.takes_return_address();
  result.needs_alignment = alignment.needed();
  result.open_end = result.complete && runs_on;
  return result;
}

}  // namespace stab::instrumenter
