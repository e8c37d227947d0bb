// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/stack_moves.h"

#include <algorithm>

#include "instrumenter/postlink/decode/decoder_impl.h"

namespace stab::instrumenter {
namespace {

using Kind = StackMove::Kind;

bool is_one_of(llvm::StringRef name, std::initializer_list<llvm::StringRef> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_string_store(llvm::StringRef name) {
  return is_one_of(name, {"STOSB", "STOSW", "STOSL", "STOSQ", "MOVSB", "MOVSW", "MOVSL", "MOVSQ",
                          "INSB", "INSW", "INSL"});
}

// These store to where a register leads and only read their memory operand.
bool stores_elsewhere(llvm::StringRef name) {
  return name.starts_with("MOVDIR64B") || name.starts_with("ENQCMD");
}

// LLVM does not know of some instructions that they store. So an instruction may store unless it
// is known to load or to do neither.
bool may_store(const llvm::MCInstrDesc& description, llvm::StringRef name) {
  return description.mayStore() ||
         !(description.mayLoad() || name.starts_with("LEA") || name.starts_with("NOOP"));
}

// A register gives the number of the bit, which counts from the memory operand on.
bool sets_any_bit(llvm::StringRef name) {
  return is_one_of(name, {"BTC16mr", "BTC32mr", "BTC64mr", "BTR16mr", "BTR32mr", "BTR64mr",
                          "BTS16mr", "BTS32mr", "BTS64mr"});
}

// Reads one instruction.
class MoveReader {
 public:
  MoveReader(const llvm::MCInstrInfo& instructions, const std::vector<std::uint8_t>& numbers,
             const llvm::MCInst& instruction)
      : description_(instructions.get(instruction.getOpcode())),
        numbers_(numbers),
        name_(instructions.getName(instruction.getOpcode())),
        instruction_(instruction) {}

  // `bytes`: the size of the memory operand.
  StackMove read(std::uint64_t address, std::uint64_t length, std::uint32_t bytes) {
    move_.address = address;
    move_.length = static_cast<std::uint32_t>(length);
    move_.padding = name_.starts_with("NOOP") || name_ == "INT3";
    find_memory(bytes);
    find_registers();
    if (!is_flow(address + length) && !is_push_or_pop() && !is_move() && !is_arithmetic())
      classify_other();
    return move_;
  }

 private:
  [[nodiscard]] std::uint8_t reg(unsigned i) const {
    return i < instruction_.getNumOperands() && instruction_.getOperand(i).isReg()
               ? numbers_[instruction_.getOperand(i).getReg()]
               : no_register;
  }
  [[nodiscard]] std::int64_t immediate(unsigned i) const { return immediate_of(instruction_, i); }
  [[nodiscard]] bool in_memory_operand(unsigned i) const {
    return move_.has_memory && i >= memory_ && i < memory_ + memory_operands;
  }
  static std::uint16_t bit(std::uint8_t number) {
    return number == no_register ? std::uint16_t{0} : static_cast<std::uint16_t>(1U << number);
  }

  // `lock orq $0, (%rsp)` and stack probes store what was there before.
  [[nodiscard]] bool is_barrier() const {
    return name_.starts_with("OR") && instruction_.getNumOperands() == memory_operands + 1 &&
           instruction_.getOperand(memory_operands).isImm() && immediate(memory_operands) == 0;
  }

  // Whether this is a scatter, which stores to one place for each number in the vector.
  [[nodiscard]] bool has_vector_index() const {
    return move_.index == no_register && instruction_.getOperand(memory_ + 2).isReg() &&
           instruction_.getOperand(memory_ + 2).getReg() != 0;
  }

  void find_memory(std::uint32_t bytes) {
    const auto found = find_memory_operands(description_, instruction_, name_.starts_with("LEA"));
    if (!found) return;
    memory_ = *found;
    move_.has_memory = true;
    move_.base = reg(memory_);
    move_.index = reg(memory_ + 2);
    move_.displacement = immediate(memory_ + 3);
    const llvm::MCOperand& segment = instruction_.getOperand(memory_ + 4);
    move_.foreign = segment.isReg() && segment.getReg() != 0;
    if (stores_elsewhere(name_) || !may_store(description_, name_) || is_barrier()) return;
    move_.stored_bytes = bytes;
    if (has_vector_index() || sets_any_bit(name_)) move_.index = move_.base;
  }

  void find_registers() {
    const unsigned definitions = description_.getNumDefs();
    move_.passes_on = move_.stored_bytes != 0;
    for (unsigned i = 0; i < instruction_.getNumOperands(); ++i) {
      if (in_memory_operand(i)) continue;
      (i < definitions ? move_.writes : move_.reads) |= bit(reg(i));
      move_.passes_on |= i < definitions && reg(i) == no_register;
    }
    for (const auto defined : description_.implicit_defs()) move_.writes |= bit(numbers_[defined]);
    for (const auto used : description_.implicit_uses()) move_.reads |= bit(numbers_[used]);
  }

  bool is_flow(std::uint64_t next) {
    if (name_.starts_with("CALL64") || name_.starts_with("FARCALL")) {
      move_.kind = Kind::call;
      if (name_ == "CALL64pcrel32") move_.target = next + static_cast<std::uint64_t>(immediate(0));
      return true;
    }
    if (jumps_directly(name_)) {
      move_.kind = name_.starts_with("JMP") ? Kind::jump : Kind::branch;
      move_.target = next + static_cast<std::uint64_t>(immediate(0));
      return true;
    }
    if (sets_all()) return false;
    if (description_.isReturn()) return move_.kind = Kind::ret, true;
    if (description_.isIndirectBranch()) return move_.kind = Kind::jump_anywhere, true;
    const bool stops =
        description_.isBarrier() || name_ == "TRAP" || name_ == "HLT" || name_.starts_with("UD");
    if (stops) move_.kind = Kind::end;
    return stops;
  }

  // Unusual returns take the stack pointer from memory or a register, and LLVM does not know that
  // ENTER moves it.
  [[nodiscard]] bool sets_all() const {
    return name_ == "ENTER" || name_.starts_with("IRET") || name_.starts_with("SYSRET") ||
           name_.starts_with("SYSEXIT") || name_.starts_with("UIRET");
  }

  bool is_push_or_pop() {
    if (is_one_of(name_, {"PUSH64r", "PUSH64rmr", "PUSH64i8", "PUSH64i32", "PUSH64rmm", "PUSHF64",
                          "PUSH16r", "PUSHFS64", "PUSHGS64"})) {
      move_.kind = Kind::push;
      move_.from = move_.has_memory ? no_register : reg(0);
      move_.stored_bytes = 0;
      move_.value = name_ == "PUSH16r" ? 2 : 8;
      return true;
    }
    if (!is_one_of(name_, {"POP64r", "POP64rmr", "POP64rmm", "POPF64", "POPFS64", "POPGS64"}))
      return false;
    move_.kind = Kind::pop;
    move_.to = move_.has_memory ? no_register : reg(0);
    move_.value = 8;
    return true;
  }

  bool is_move() {
    if (name_ == "LEAVE64") return move_.kind = Kind::leave, true;
    if (name_ == "MOV64rr" || name_ == "MOV64rr_REV") return set(Kind::copy, reg(0), reg(1));
    if (name_ == "MOV64rm") return set(Kind::load, reg(0), no_register);
    if (name_ == "MOV64mr") return set(Kind::store, no_register, reg(memory_operands));
    if (name_ == "LEA64r") return set(Kind::address, reg(0), no_register);
    return false;
  }

  bool set(Kind kind, std::uint8_t to, std::uint8_t from) {
    move_.kind = kind;
    move_.to = to;
    move_.from = from;
    return true;
  }

  bool is_arithmetic() {
    if (name_ == "ADD64ri8" || name_ == "ADD64ri32") return adds(reg(0), immediate(2));
    if (name_ == "SUB64ri8" || name_ == "SUB64ri32") return adds(reg(0), -immediate(2));
    if (name_ == "ADD64i32") return adds(rax_number, immediate(0));
    if (name_ == "SUB64i32") return adds(rax_number, -immediate(0));
    if (name_ == "SUB64rr" || name_ == "SUB64rr_REV") return set(Kind::lower, reg(0), reg(2));
    if (name_ == "SUB64rm") return set(Kind::lower, reg(0), no_register);
    if (name_ == "AND64ri8" || name_ == "AND64ri32") return aligns(reg(0), immediate(2));
    if (name_ == "AND64i32") return aligns(rax_number, immediate(0));
    return false;
  }

  bool adds(std::uint8_t to, std::int64_t value) {
    move_.value = value;
    return set(Kind::add, to, no_register);
  }

  bool aligns(std::uint8_t to, std::int64_t mask) {
    return mask < 0 && (-mask & (-mask - 1)) == 0 && set(Kind::align, to, no_register);
  }

  void classify_other() {
    const bool clears =
        (name_.starts_with("XOR32rr") || name_.starts_with("XOR64rr")) && reg(1) == reg(2);
    if (clears) move_.reads = 0;
    if (sets_all()) move_.writes |= bit(rsp_number);
    move_.kernel = name_ == "SYSCALL" || name_.starts_with("INT");
    if (stores_elsewhere(name_)) move_.stores_by = bit(reg(0));
    if (!move_.has_memory && (description_.mayStore() || description_.hasUnmodeledSideEffects()))
      move_.stores_by = move_.reads;
    if (!is_string_store(name_)) return;
    move_.stores_by = bit(rdi_number);
    move_.stored_bytes = 0;
    move_.writes |= bit(rcx_number);  // the counter of repetitions
  }

  const llvm::MCInstrDesc& description_;
  const std::vector<std::uint8_t>& numbers_;
  const llvm::StringRef name_;
  const llvm::MCInst& instruction_;
  unsigned memory_ = 0;
  StackMove move_;
};

}  // namespace

std::vector<StackMove> Decoder::stack_moves(std::span<const std::uint8_t> code,
                                            std::uint64_t address) const {
  std::vector<StackMove> moves;
  (void)impl_->read(code, address, [&](const Decoded& at) {
    const unsigned opcode = at.instruction.getOpcode();
    const bool stores =
        may_store(impl_->instructions->get(opcode), impl_->instructions->getName(opcode));
    moves.push_back(MoveReader(*impl_->instructions, impl_->general_numbers, at.instruction)
                        .read(address + at.offset, at.length,
                              stores ? impl_->memory_bytes(at.instruction) : 0));
  });
  return moves;
}

}  // namespace stab::instrumenter
