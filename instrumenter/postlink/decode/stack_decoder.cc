// SPDX-License-Identifier: MIT
// Describes what each instruction does to the stack pointer and to rbp, and what it reaches
// through them.
#include <algorithm>

#include "instrumenter/postlink/decode/decoder_impl.h"

namespace stab::instrumenter {
namespace {

using StepKind = StackStep::Kind;
using StepBase = StackStep::Base;

// Reads one instruction.
class Reader {
 public:
  Reader(const llvm::MCInstrInfo& instructions, const llvm::MCRegisterInfo& registers, unsigned rsp,
         unsigned rbp, const llvm::MCInst& instruction)
      : description_(instructions.get(instruction.getOpcode())),
        registers_(registers),
        name_(instructions.getName(instruction.getOpcode())),
        rsp_(rsp),
        rbp_(rbp),
        instruction_(instruction) {}

  StackStep read(std::uint64_t address, std::uint64_t length) {
    step_.length = static_cast<std::uint32_t>(length);
    step_.padding = name_.starts_with("NOOP") || name_ == "INT3";
    find_memory();
    if (!is_flow(address + length) && !is_push_or_pop() && !is_move() && !is_arithmetic())
      look_for_others();
    return step_;
  }

 private:
  [[nodiscard]] unsigned reg(unsigned i) const {
    return i < instruction_.getNumOperands() && instruction_.getOperand(i).isReg()
               ? instruction_.getOperand(i).getReg()
               : 0;
  }
  [[nodiscard]] std::int64_t immediate(unsigned i) const { return immediate_of(instruction_, i); }
  [[nodiscard]] bool is_part_of(unsigned small, unsigned large) const {
    return small != 0 && registers_.isSubRegisterEq(large, small);
  }
  [[nodiscard]] bool in_memory_operand(unsigned i) const {
    return memory_ != none && i >= memory_ && i < memory_ + memory_operands;
  }

  void find_memory() {
    const bool lea = name_.starts_with("LEA");
    const auto found = find_memory_operands(description_, instruction_, lea);
    if (!found) return;
    memory_ = *found;
    step_.is_address = lea;
    step_.indexed = reg(memory_ + 2) != 0;
    step_.displacement = immediate(memory_ + 3);
    step_.base = is_part_of(reg(memory_), rsp_)   ? StepBase::rsp
                 : is_part_of(reg(memory_), rbp_) ? StepBase::rbp
                                                  : StepBase::none;
  }

  bool is_flow(std::uint64_t next) {
    if (name_.starts_with("CALL64")) return step_.kind = StepKind::call, true;
    if (description_.isReturn()) return step_.kind = StepKind::ret, true;
    if (jumps_directly(name_)) {
      step_.kind = name_.starts_with("JMP") ? StepKind::jump : StepKind::branch;
      step_.target = next + static_cast<std::uint64_t>(immediate(0));
      return true;
    }
    const bool stops =
        description_.isBarrier() || name_ == "TRAP" || name_ == "HLT" || name_.starts_with("UD");
    if (!stops) return false;
    step_.kind = StepKind::end;
    return true;
  }

  bool is_push_or_pop() {
    if (name_ == "PUSH64r" || name_ == "PUSH64rmr" || name_ == "PUSH64i8" || name_ == "PUSH64i32" ||
        name_ == "PUSH64rmm" || name_ == "PUSHF64") {
      step_.kind = reg(0) == rsp_ && memory_ == none ? StepKind::unknown : StepKind::push;
      step_.value = 8;
      return true;
    }
    if (name_ != "POP64r" && name_ != "POP64rmr" && name_ != "POP64rmm" && name_ != "POPF64")
      return false;
    step_.kind = reg(0) == rsp_ && memory_ == none ? StepKind::unknown : StepKind::pop;
    step_.pops_base = reg(0) == rbp_ && memory_ == none;
    // The address counts from the stack pointer after the pop.
    if (step_.base == StepBase::rsp) step_.displacement += 8;
    step_.value = 8;
    return true;
  }

  bool is_move() {
    if (name_ == "LEAVE64") return step_.kind = StepKind::leave, true;
    if (name_.starts_with("MOV64rr") && reg(0) == rsp_) {
      step_.kind = reg(1) == rbp_ ? StepKind::restore : StepKind::set;
      return true;
    }
    if (name_.starts_with("MOV64rr") && reg(1) == rsp_) {
      if (reg(0) == rbp_) step_.kind = StepKind::save;
      return true;
    }
    if (name_ != "LEA64r" || reg(0) != rsp_) return false;
    step_.kind = step_.indexed                 ? StepKind::set
                 : step_.base == StepBase::rsp ? StepKind::add
                 : step_.base == StepBase::rbp ? StepKind::restore
                                               : StepKind::set;
    step_.value = step_.displacement;
    step_.field = wide(step_.value) ? 1 : 0;
    step_.base = StepBase::none;
    return true;
  }

  [[nodiscard]] static bool wide(std::int64_t value) { return value < -128 || value > 127; }

  bool is_arithmetic() {
    if (reg(0) != rsp_ || description_.getNumDefs() != 1) return false;
    const bool adds = name_ == "ADD64ri32" || name_ == "ADD64ri8";
    const bool subtracts = name_ == "SUB64ri32" || name_ == "SUB64ri8";
    if (adds || subtracts) {
      step_.kind = StepKind::add;
      step_.value = adds ? immediate(2) : -immediate(2);
      step_.field = name_.ends_with("32") ? 1 : 0;
      return true;
    }
    const std::int64_t mask = immediate(2);
    const bool aligns =
        (name_ == "AND64ri32" || name_ == "AND64ri8") && mask < 0 && (-mask & (-mask - 1)) == 0;
    step_.kind = aligns ? StepKind::align : StepKind::set;
    step_.value = -mask;
    return true;
  }

  // Handles any other instruction that writes rsp or rbp, or uses the stack pointer as a value.
  void look_for_others() {
    const unsigned definitions = description_.getNumDefs();
    for (unsigned i = 0; i < instruction_.getNumOperands(); ++i) {
      if (in_memory_operand(i)) {
        if (i == memory_ + 2 && is_part_of(reg(i), rsp_)) step_.kind = StepKind::unknown;
        continue;
      }
      if (is_part_of(reg(i), rsp_)) step_.kind = StepKind::unknown;
      if (i < definitions && is_part_of(reg(i), rbp_) && step_.kind != StepKind::unknown)
        step_.kind = StepKind::set_base;
    }
    if (description_.hasImplicitDefOfPhysReg(rsp_, &registers_)) step_.kind = StepKind::unknown;
    if (description_.hasImplicitDefOfPhysReg(rbp_, &registers_) && step_.kind != StepKind::unknown)
      step_.kind = StepKind::set_base;
  }

  static constexpr unsigned none = ~0u;
  const llvm::MCInstrDesc& description_;
  const llvm::MCRegisterInfo& registers_;
  const llvm::StringRef name_;
  const unsigned rsp_;
  const unsigned rbp_;
  const llvm::MCInst& instruction_;
  unsigned memory_ = none;
  StackStep step_;
};

}  // namespace

std::vector<StackStep> Decoder::stack_steps(std::span<const std::uint8_t> code,
                                            std::uint64_t address) const {
  std::vector<StackStep> steps;
  const bool complete = impl_->read(code, address, [&](const Decoded& at) {
    StackStep step =
        Reader(*impl_->instructions, *impl_->registers, impl_->rsp, impl_->rbp, at.instruction)
            .read(address + at.offset, at.length);
    step.offset = static_cast<std::uint32_t>(at.offset);
    // Such an instruction ends with its number.
    if (step.field != 0) step.field = static_cast<std::uint32_t>(at.offset + at.length - 4);
    steps.push_back(step);
  });
  return complete ? steps : std::vector<StackStep>{};
}

}  // namespace stab::instrumenter
