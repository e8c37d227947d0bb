// SPDX-License-Identifier: MIT
// LLVM's disassembler, as decoder.cc and stack_decoder.cc use it.
#pragma once

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCDisassembler/MCSymbolizer.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "instrumenter/postlink/decode/decoder.h"

namespace stab::instrumenter {

// The disassembler offers each immediate and displacement to its symbolizer together with the place
// of the field, which is the only way to learn it.
class FieldCollector : public llvm::MCSymbolizer {
 public:
  struct Field {
    std::uint64_t value;
    std::uint64_t offset;
    std::uint64_t size;
    std::uint64_t end;  // of the instruction
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

struct Decoder::Impl {
  Impl();
  void number_registers();
  [[nodiscard]] bool refers_to_pc(const llvm::MCInst& instruction) const;
  void collect(const llvm::MCInst& instruction, std::span<const std::uint8_t> bytes,
               std::uint64_t offset, std::vector<Operand>& out) const;
  [[nodiscard]] bool sets_stack_pointer(const llvm::MCInst& instruction) const;
  [[nodiscard]] std::uint32_t values_written(const llvm::MCInst& instruction) const;
  [[nodiscard]] bool may_run_on(const llvm::MCInst& instruction) const;

  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  FieldCollector* collector = nullptr;  // owned by the disassembler
  unsigned rip = 0;
  unsigned rsp = 0;
  unsigned rbp = 0;
  std::vector<std::uint8_t> general_numbers;  // by register, as stack_moves.h numbers them
  std::vector<std::uint8_t> widths;           // by register: 64, 32, or less
};

}  // namespace stab::instrumenter
