// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decoder.h"

#include <llvm-c/Target.h>
#include <llvm/MC/TargetRegistry.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "instrumenter/postlink/decoder_impl.h"

namespace stab::instrumenter {
namespace {

void initialize_llvm() {
  static const bool once = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    return true;
  }();
  (void)once;
}

std::int64_t signed_field(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes.size());
  return static_cast<std::int64_t>(value << unused) >> unused;
}

}  // namespace

Decoder::Impl::Impl() {
  initialize_llvm();
  const std::string triple = "x86_64-unknown-linux-gnu";
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) std::abort();  // the library that we link has the X86 target
  registers.reset(target->createMCRegInfo(triple));
  assembly.reset(target->createMCAsmInfo(*registers, triple, options));
  instructions.reset(target->createMCInstrInfo());
  subtarget.reset(target->createMCSubtargetInfo(triple, "", ""));
  context = std::make_unique<llvm::MCContext>(llvm::Triple(triple), assembly.get(), registers.get(),
                                              subtarget.get());
  disassembler.reset(target->createMCDisassembler(*subtarget, *context));
  auto owned = std::make_unique<FieldCollector>(*context);
  collector = owned.get();
  disassembler->setSymbolizer(std::move(owned));
  for (unsigned i = 1; i < registers->getNumRegs(); ++i)
    for (const auto& [name, number] :
         {std::pair{"RIP", &rip}, {"RSP", &rsp}, {"RBP", &rbp}, {"RBX", &rbx}})
      if (llvm::StringRef(registers->getName(i)) == name) *number = i;
}

bool Decoder::Impl::refers_to_pc(const llvm::MCInst& instruction) const {
  return std::ranges::any_of(instruction, [&](const llvm::MCOperand& operand) {
    return operand.isReg() && operand.getReg() == rip;
  });
}

// A pc-relative field is one whose bytes plus the end of the instruction give the value that the
// decoder reports.
void Decoder::Impl::collect(const llvm::MCInst& instruction, std::span<const std::uint8_t> bytes,
                            std::uint64_t offset, std::vector<Operand>& out) const {
  const bool relative = refers_to_pc(instruction);
  const bool lea = instructions->getName(instruction.getOpcode()).starts_with("LEA");
  for (const FieldCollector::Field& field : collector->fields) {
    if (field.offset + field.size > bytes.size() ||
        (field.size != 1 && field.size != 4 && field.size != 2))
      continue;
    const std::int64_t displacement = signed_field(bytes.subspan(field.offset, field.size));
    if (field.value - field.end != static_cast<std::uint64_t>(displacement)) continue;
    if (!field.branch && (!relative || field.size != 4)) continue;
    out.push_back({static_cast<std::uint32_t>(offset + field.offset),
                   static_cast<std::uint32_t>(field.size), field.value,
                   field.branch ? Operand::Use::branch
                   : lea        ? Operand::Use::address
                                : Operand::Use::access});
  }
}

StackUse Decoder::Impl::stack_use(const llvm::MCInst& instruction) const {
  using Kind = StackUse::Kind;
  const llvm::StringRef name = instructions->getName(instruction.getOpcode());
  const auto reg = [&](unsigned operand) -> unsigned {
    return operand < instruction.getNumOperands() && instruction.getOperand(operand).isReg()
               ? instruction.getOperand(operand).getReg()
               : 0;
  };
  if (name.starts_with("XCHG64"))
    return {reg(0) == rsp || reg(1) == rsp ? Kind::switches : Kind::none, 0};
  if (name == "POP64r" && reg(0) == rsp) return {Kind::switches, 0};
  if (name == "MOV64rm" && reg(0) == rsp)
    return {reg(1) == rbp || reg(1) == rsp || reg(1) == rbx ? Kind::none : Kind::switches, 0};
  if (name == "LEA64r" && reg(1) == rsp) return {Kind::saves, reg(0)};
  if (!name.starts_with("MOV64rr")) return {};
  if (reg(0) == rsp) return {reg(1) == rbp ? Kind::none : Kind::restores, reg(1)};
  return {reg(1) == rsp ? Kind::saves : Kind::none, reg(0)};
}

// A call may be to a function that does not return; anything else that is no barrier runs on.
bool Decoder::Impl::may_run_on(const llvm::MCInst& instruction) const {
  const llvm::MCInstrDesc& description = instructions->get(instruction.getOpcode());
  const llvm::StringRef name = instructions->getName(instruction.getOpcode());
  const bool traps = name == "TRAP" || name == "UD1Lm" || name == "INT3" || name == "HLT" ||
                     name.starts_with("UD1") || name.starts_with("UD2");
  return !(description.isBarrier() || description.isReturn() || description.isCall() || traps);
}

Decoder::Decoder() : impl_(std::make_unique<Impl>()) {}
Decoder::~Decoder() = default;

DecodedFunction Decoder::decode(std::span<const std::uint8_t> code, std::uint64_t address) const {
  DecodedFunction result;
  result.starts.resize(code.size());
  std::uint64_t offset = 0;
  bool runs_on = true;
  std::set<unsigned> saved;  // registers that held the stack pointer, or a place near it
  std::set<unsigned> restored;
  while (offset < code.size()) {
    llvm::MCInst instruction;
    std::uint64_t length = 0;
    impl_->collector->fields.clear();
    const auto rest = code.subspan(offset);
    const auto status = impl_->disassembler->getInstruction(
        instruction, length, llvm::ArrayRef<std::uint8_t>(rest.data(), rest.size()),
        address + offset, llvm::nulls());
    if (status != llvm::MCDisassembler::Success || length == 0 || length > rest.size())
      return result;
    result.starts[offset] = true;
    impl_->collect(instruction, rest.subspan(0, length), offset, result.operands);
    const StackUse use = impl_->stack_use(instruction);
    if (use.kind == StackUse::Kind::saves) saved.insert(use.other);
    if (use.kind == StackUse::Kind::restores) restored.insert(use.other);
    result.switches_stacks |= use.kind == StackUse::Kind::switches;
    // Padding after the end of the last block belongs to the function's size with some assemblers.
    const bool padding = impl_->instructions->getName(instruction.getOpcode()).starts_with("NOOP");
    if (!padding) runs_on = impl_->may_run_on(instruction);
    offset += length;
  }
  std::ranges::sort(result.operands, {}, &Operand::offset);
  result.complete = true;
  result.switches_stacks |= !std::ranges::includes(saved, restored);
  result.open_end = runs_on;
  return result;
}

}  // namespace stab::instrumenter
