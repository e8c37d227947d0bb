// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/decoder.h"

#include <llvm-c/Target.h>
#include <llvm/MC/TargetRegistry.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "instrumenter/postlink/decode/decoder_impl.h"
#include "instrumenter/postlink/decode/return_address.h"

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
  constexpr unsigned intel = 1;
  printer.reset(target->createMCInstPrinter(llvm::Triple(triple), intel, *assembly, *instructions,
                                            *registers));
  auto owned = std::make_unique<FieldCollector>(*context);
  collector = owned.get();
  disassembler->setSymbolizer(std::move(owned));
  for (unsigned i = 1; i < registers->getNumRegs(); ++i)
    for (const auto& [name, number] :
         {std::pair{"RIP", &rip}, {"RSP", &rsp}, {"RBP", &rbp}, {"EFLAGS", &flags}})
      if (llvm::StringRef(registers->getName(i)) == name) *number = i;
  number_registers();
}

bool Decoder::Impl::refers_to_pc(const llvm::MCInst& instruction) const {
  return std::ranges::any_of(instruction, [&](const llvm::MCOperand& operand) {
    return operand.isReg() && operand.getReg() == rip;
  });
}

// A field is pc-relative if its bytes plus the end of the instruction give the value that the
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

// Numbers the registers and all their parts.
void Decoder::Impl::number_registers() {
  constexpr std::array<const char*, register_count> names = {
      "RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI", "RDI",
      "R8",  "R9",  "R10", "R11", "R12", "R13", "R14", "R15"};
  general_numbers.assign(registers->getNumRegs(), no_register);
  widths.assign(registers->getNumRegs(), 0);
  for (unsigned i = 1; i < registers->getNumRegs(); ++i)
    for (std::uint8_t n = 0; n < names.size(); ++n)
      if (llvm::StringRef(registers->getName(i)) == names[n])
        for (const auto part : registers->subregs_inclusive(i)) {
          const llvm::StringRef name = registers->getName(part);
          general_numbers[part] = n;
          const bool half = name.starts_with("E") || name.ends_with("D");
          widths[part] = part == i ? 64 : half ? 32 : 16;
        }
}

// Follows what pops take, as far as the same straight line of code pushed it. A pop of something
// deeper takes what another block saved.
class Decoder::Impl::Pushed {
 public:
  explicit Pushed(const Impl& decoder) : decoder_(decoder) {}

  // Whether the instruction pops a value that was not pushed from the same register.
  bool mixes(const llvm::MCInst& instruction) {
    const llvm::StringRef name = decoder_.instructions->getName(instruction.getOpcode());
    bool mixed = false;
    if (name == "PUSH64r")
      stack_.push_back(number_of(instruction, 0));
    else if (name.starts_with("PUSH"))
      stack_.push_back(no_register);
    else if (name == "POP64r")
      mixed = !stack_.empty() && take() != number_of(instruction, 0);
    else if (llvm::is_contained({"POP64rmr", "POP64rmm", "POPF64", "POPFS64", "POPGS64"}, name))
      take();
    else if (name.starts_with("POP") && !name.starts_with("POPCNT"))
      stack_.assign(stack_.size(), no_register);
    else if (name.starts_with("SUB64ri") && number_of(instruction, 0) == rsp_number)
      grow(instruction.getOperand(2).getImm());
    else if (name.starts_with("ADD64ri") && number_of(instruction, 0) == rsp_number)
      grow(-instruction.getOperand(2).getImm());
    else if ((name == "LEA64r" && number_of(instruction, 0) == rsp_number) ||
             decoder_.sets_stack_pointer(instruction) ||
             decoder_.instructions->get(instruction.getOpcode()).isBarrier())
      stack_.clear();
    else
      overwrite(instruction);
    return mixed;
  }

 private:
  // Forgets pushed values that the instruction may overwrite. If it stores at a constant distance
  // from rsp, it overwrites these slots only; with an index, it may overwrite any slot.
  void overwrite(const llvm::MCInst& instruction) {
    if (!decoder_.instructions->get(instruction.getOpcode()).mayStore()) return;
    for (unsigned i = 0; i + 3 < instruction.getNumOperands(); ++i) {
      if (!instruction.getOperand(i).isReg() || number_of(instruction, i) != rsp_number) continue;
      const llvm::MCOperand& index = instruction.getOperand(i + 2);
      const llvm::MCOperand& by = instruction.getOperand(i + 3);
      if (!index.isReg() || index.getReg() != 0 || !by.isImm())
        return stack_.assign(stack_.size(), no_register);
      const std::int64_t first = by.getImm() >> 3;
      const std::int64_t last = (by.getImm() + decoder_.memory_bytes(instruction) - 1) >> 3;
      const auto size = static_cast<std::int64_t>(stack_.size());
      for (std::int64_t slot = std::max<std::int64_t>(first, 0); slot <= last && slot < size;
           ++slot)
        stack_[static_cast<std::size_t>(size - 1 - slot)] = no_register;
    }
  }
  [[nodiscard]] std::uint8_t number_of(const llvm::MCInst& instruction, unsigned operand) const {
    return decoder_.general_numbers[instruction.getOperand(operand).getReg()];
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

  const Impl& decoder_;
  std::vector<std::uint8_t> stack_;
};

// A write of 32 bits clears the upper half, so it gives no address of a copy above 4 GB. The runtime
// uses these registers only for such copies (migrate.cc).
std::uint32_t Decoder::Impl::values_written(const llvm::MCInst& instruction) const {
  const llvm::MCInstrDesc& description = instructions->get(instruction.getOpcode());
  const llvm::StringRef name = instructions->getName(instruction.getOpcode());
  const bool address = name == "POP64r" || (name == "LEA64r" && refers_to_pc(instruction));
  std::uint32_t written = 0;
  const auto write = [&](unsigned number) {
    const unsigned width = widths[number];
    if (width == 16 || (width == 64 && !address)) written |= 1u << general_numbers[number];
  };
  for (unsigned i = 0; i < description.getNumDefs() && i < instruction.getNumOperands(); ++i)
    if (instruction.getOperand(i).isReg()) write(instruction.getOperand(i).getReg());
  for (const auto number : description.implicit_defs()) write(number);
  return written;
}

bool Decoder::Impl::sets_stack_pointer(const llvm::MCInst& instruction) const {
  const llvm::MCInstrDesc& description = instructions->get(instruction.getOpcode());
  const llvm::StringRef name = instructions->getName(instruction.getOpcode());
  const auto is_stack_pointer = [&](unsigned operand) {
    return operand < instruction.getNumOperands() && instruction.getOperand(operand).isReg() &&
           general_numbers[instruction.getOperand(operand).getReg()] == rsp_number;
  };
  for (unsigned i = 0; i < description.getNumDefs(); ++i) {
    if (!is_stack_pointer(i)) continue;
    const bool adds = name.starts_with("ADD64ri") || name.starts_with("SUB64ri");
    const bool near = name == "LEA64r" && is_stack_pointer(1) &&
                      instruction.getOperand(3).isReg() && instruction.getOperand(3).getReg() == 0;
    if (!adds && !near) return true;
  }
  const bool usual = name.starts_with("PUSH") || name.starts_with("POP") ||
                     name.starts_with("CALL") || name.starts_with("RET");
  return name == "ENTER" || name.starts_with("IRET") || name.starts_with("SYSRET") ||
         name.starts_with("UIRET") ||
         (!usual && description.hasImplicitDefOfPhysReg(rsp, registers.get()));
}

// A call may go to a function that does not return. Any other instruction runs on unless it is a
// barrier.
bool Decoder::Impl::may_run_on(const llvm::MCInst& instruction) const {
  const llvm::MCInstrDesc& description = instructions->get(instruction.getOpcode());
  const llvm::StringRef name = instructions->getName(instruction.getOpcode());
  const bool traps = name == "TRAP" || name == "UD1Lm" || name == "INT3" || name == "HLT" ||
                     name.starts_with("UD1") || name.starts_with("UD2");
  return !(description.isBarrier() || description.isReturn() || description.isCall() || traps);
}

std::uint32_t Decoder::Impl::memory_bytes(const llvm::MCInst& instruction) const {
  constexpr std::array<std::pair<std::string_view, std::uint32_t>, 8> sizes = {{{"byte", 1},
                                                                                {"word", 2},
                                                                                {"dword", 4},
                                                                                {"qword", 8},
                                                                                {"tbyte", 10},
                                                                                {"xmmword", 16},
                                                                                {"ymmword", 32},
                                                                                {"zmmword", 64}}};
  std::string text;
  llvm::raw_string_ostream stream(text);
  printer->printInst(&instruction, 0, "", *subtarget, stream);
  const std::string_view before = std::string_view(text).substr(0, stream.str().find(" ptr "));
  const std::string_view word = before.substr(before.find_last_of(" \t") + 1);
  const auto size = std::ranges::find(sizes, word, &decltype(sizes)::value_type::first);
  return size == sizes.end() ? any_bytes : size->second;
}

Decoder::Decoder() : impl_(std::make_unique<Impl>()) {}
Decoder::~Decoder() = default;

DecodedFunction Decoder::decode(std::span<const std::uint8_t> code, std::uint64_t address) const {
  DecodedFunction result;
  result.starts.resize(code.size());
  bool runs_on = true;
  Impl::Pushed pushed(*impl_);
  result.complete = impl_->read(code, address, [&](const Decoded& at) {
    result.starts[at.offset] = true;
    impl_->collect(at.instruction, code.subspan(at.offset, at.length), at.offset, result.operands);
    result.jumps_anywhere |=
        impl_->instructions->get(at.instruction.getOpcode()).isIndirectBranch();
    result.sets_stack_pointer |= impl_->sets_stack_pointer(at.instruction);
    result.values |= impl_->values_written(at.instruction);
    if (pushed.mixes(at.instruction))
      result.values |= 1u << impl_->general_numbers[at.instruction.getOperand(0).getReg()];
    // Some assemblers count padding after the last block as part of the function.
    const bool padding =
        impl_->instructions->getName(at.instruction.getOpcode()).starts_with("NOOP");
    if (!padding) runs_on = impl_->may_run_on(at.instruction);
  });
  constexpr std::size_t beginning = 64;
  result.takes_return_address = instrumenter::takes_return_address(
      stack_moves(code.first(std::min(code.size(), beginning)), address));
  if (!result.complete) return result;
  std::ranges::sort(result.operands, {}, &Operand::offset);
  result.open_end = runs_on;
  return result;
}

}  // namespace stab::instrumenter
