// SPDX-License-Identifier: MIT
// LLVM's disassembler, as the readers of code use it: decoder.cc, address_uses.cc,
// stack_decoder.cc and stack_moves.cc.
#pragma once

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCDisassembler/MCSymbolizer.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "instrumenter/postlink/decode/decoder.h"

namespace stab::instrumenter {

// The disassembler passes each immediate and displacement to its symbolizer, together with the
// place of the field. There is no other way to learn that place.
class FieldCollector : public llvm::MCSymbolizer {
 public:
  struct Field {
    std::uint64_t value;
    std::uint64_t offset;
    std::uint64_t size;
    std::uint64_t end;  // where the instruction ends
    bool branch;
  };

  explicit FieldCollector(llvm::MCContext& context)
      : MCSymbolizer(context, std::make_unique<llvm::MCRelocationInfo>(context)) {}

  bool tryAddingSymbolicOperand(llvm::MCInst& /*instruction*/, llvm::raw_ostream& /*comments*/,
                                std::int64_t value, std::uint64_t address, bool branch,
                                std::uint64_t offset, std::uint64_t size,
                                std::uint64_t length) override {
    fields.push_back({static_cast<std::uint64_t>(value), offset, size, address + length, branch});
    return false;
  }

  void tryAddingPcLoadReferenceComment(llvm::raw_ostream& /*comments*/, std::int64_t /*value*/,
                                       std::uint64_t /*address*/) override {}

  std::vector<Field> fields;
};

constexpr std::uint32_t any_bytes = UINT32_MAX;
constexpr unsigned memory_operands = 5;  // base, scale, index, displacement, segment

// Returns the index of the first of the instruction's memory_operands, or nothing if it has none.
inline std::optional<unsigned> find_memory_operands(const llvm::MCInstrDesc& description,
                                                    const llvm::MCInst& instruction, bool lea) {
  const auto operands = description.operands();
  for (unsigned i = 0; i + memory_operands <= operands.size() &&
                       i + memory_operands <= instruction.getNumOperands();
       ++i)
    // LLVM says less about the operands of a lea than about others.
    if (lea ? i == 1 : operands[i].OperandType == llvm::MCOI::OPERAND_MEMORY) return i;
  return std::nullopt;
}

inline std::int64_t immediate_of(const llvm::MCInst& instruction, unsigned i) {
  return i < instruction.getNumOperands() && instruction.getOperand(i).isImm()
             ? instruction.getOperand(i).getImm()
             : 0;
}

// Whether this is a jump, conditional or not, that contains the address it leads to.
inline bool jumps_directly(llvm::StringRef name) {
  return name == "JMP_1" || name == "JMP_4" || name == "JCC_1" || name == "JCC_4" ||
         name.starts_with("LOOP") || name == "JRCXZ" || name == "JECXZ";
}

// An instruction and where it lies, counted from the start of the code that is read.
struct Decoded {
  llvm::MCInst instruction;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

struct Decoder::Impl {
  class Pushed;

  Impl();
  // Calls `each` for one instruction after the other. Returns false at the first bytes that the
  // decoder does not know, and reads no further.
  template <class Each>
  bool read(std::span<const std::uint8_t> code, std::uint64_t address, Each each) const {
    for (Decoded next; next.offset < code.size(); next.offset += next.length) {
      const auto rest = code.subspan(next.offset);
      next.instruction = llvm::MCInst();
      collector->fields.clear();
      const auto status = disassembler->getInstruction(
          next.instruction, next.length, llvm::ArrayRef<std::uint8_t>(rest.data(), rest.size()),
          address + next.offset, llvm::nulls());
      if (status != llvm::MCDisassembler::Success || next.length == 0 || next.length > rest.size())
        return false;
      each(next);
    }
    return true;
  }
  void number_registers();
  [[nodiscard]] bool refers_to_pc(const llvm::MCInst& instruction) const;
  void collect(const llvm::MCInst& instruction, std::span<const std::uint8_t> bytes,
               std::uint64_t offset, std::vector<Operand>& out) const;
  [[nodiscard]] bool sets_stack_pointer(const llvm::MCInst& instruction) const;
  [[nodiscard]] std::uint32_t values_written(const llvm::MCInst& instruction) const;
  [[nodiscard]] bool may_run_on(const llvm::MCInst& instruction) const;
  // Returns the size of the memory operand, or any_bytes if the instruction does not say.
  [[nodiscard]] std::uint32_t memory_bytes(const llvm::MCInst& instruction) const;

  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;  // prints Intel's syntax, which names sizes
  FieldCollector* collector = nullptr;           // owned by the disassembler
  unsigned rip = 0;
  unsigned rsp = 0;
  unsigned rbp = 0;
  unsigned flags = 0;
  std::vector<std::uint8_t> general_numbers;  // LLVM's register -> its number in stack_moves.h
  std::vector<std::uint8_t> widths;  // LLVM's register -> 64, 32, or 16 for anything smaller
};

}  // namespace stab::instrumenter
