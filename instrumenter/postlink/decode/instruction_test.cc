// SPDX-License-Identifier: MIT
// Compares the reader of instructions with LLVM's disassembler, on the code of installed libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm-c/Target.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

#include <array>
#include <map>
#include <memory>
#include <string>

#include "base/fd.h"
#include "instrumenter/postlink/decode/decoder.h"
#include "instrumenter/postlink/elf/elf_file.h"

namespace stab::instrumenter {
namespace {

using Does = Instruction::Does;

// What LLVM says of an instruction.
struct Other {
  std::uint64_t length = 0;
  std::string name;
  Registers writes = 0;
  bool stores = false;
  bool calls = false;
  bool branches = false;
  bool returns = false;
  bool indirect = false;
};

class Llvm {
 public:
  Llvm() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    const llvm::Triple triple("x86_64-unknown-linux-gnu");
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    registers_.reset(target->createMCRegInfo(triple));
    assembly_.reset(target->createMCAsmInfo(*registers_, triple, options_));
    instructions_.reset(target->createMCInstrInfo());
    subtarget_.reset(target->createMCSubtargetInfo(triple, "", ""));
    context_ = std::make_unique<llvm::MCContext>(triple, assembly_.get(), registers_.get(),
                                                 subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
    constexpr std::array<const char*, register_count> names = {
        "RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI", "RDI",
        "R8",  "R9",  "R10", "R11", "R12", "R13", "R14", "R15"};
    numbers_.assign(registers_->getNumRegs(), no_register);
    for (unsigned i = 1; i < registers_->getNumRegs(); ++i)
      for (std::uint8_t n = 0; n < names.size(); ++n)
        if (std::string_view(registers_->getName(i)) == names[n])
          for (const auto part : registers_->subregs_inclusive(i)) numbers_[part] = n;
  }

  std::optional<Other> read(std::span<const std::uint8_t> code, std::uint64_t address) const {
    llvm::MCInst instruction;
    Other other;
    const auto status = disassembler_->getInstruction(
        instruction, other.length, llvm::ArrayRef<std::uint8_t>(code.data(), code.size()), address,
        llvm::nulls());
    if (status != llvm::MCDisassembler::Success) return std::nullopt;
    const llvm::MCInstrDesc& description = instructions_->get(instruction.getOpcode());
    other.name = instructions_->getName(instruction.getOpcode());
    for (unsigned i = 0; i < description.getNumDefs() && i < instruction.getNumOperands(); ++i)
      if (instruction.getOperand(i).isReg())
        other.writes |= bit(numbers_[instruction.getOperand(i).getReg()]);
    for (const auto defined : description.implicit_defs()) other.writes |= bit(numbers_[defined]);
    other.stores = description.mayStore();
    other.calls = description.isCall();
    other.branches = description.isBranch();
    other.returns = description.isReturn();
    other.indirect = description.isIndirectBranch();
    return other;
  }

 private:
  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  std::vector<std::uint8_t> numbers_;
};

bool stores(const Instruction& read) {
  return read.stored() != 0 || read.stores_by != 0 || read.does == Does::push ||
         read.does == Does::call;
}

// LLVM says that these write rax, which they only read.
bool extends_rax(std::string_view name) {
  return name == "CWD" || name == "CDQ" || name == "CQO";
}

// LLVM says that these store. An `or` with 0 stores what was there before.
bool stores_nothing(std::string_view name) {
  return name.starts_with("OR") || name.starts_with("PREFETCH") || name.ends_with("FENCE") ||
         name == "PAUSE" || name == "LDMXCSR" || name == "XABORT" || name == "XEND";
}

// Returns what the two say differently, or nothing.
std::string difference(const Instruction& read, const Other& other) {
  if (read.length != other.length) return "length";
  if (other.calls != (read.does == Does::call)) return "call";
  const bool branches = read.does == Does::jump || read.does == Does::branch;
  if (other.branches != (branches || read.does == Does::jump_anywhere)) return "branch";
  if (other.indirect != (read.does == Does::jump_anywhere)) return "indirect branch";
  if (other.returns != (read.does == Does::ret || read.does == Does::return_anywhere))
    return "return";
  if ((other.writes & ~read.writes) != 0 && !extends_rax(other.name)) return "registers";
  if (other.stores && !stores(read) && !stores_nothing(other.name)) return "store";
  return {};
}

class SharedLibrary : public testing::TestWithParam<const char*> {};

TEST_P(SharedLibrary, IsReadAsLlvmReadsIt) {
  constexpr std::uint8_t lock = 0xf0;  // for LLVM an instruction of its own
  const auto bytes = read_file(GetParam(), std::size_t{1} << 30);
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto file = ElfFile::parse(*bytes);
  ASSERT_TRUE(file);
  const Elf64_Shdr* text = file->section(".text");
  ASSERT_NE(text, nullptr);
  const auto code = file->contents(*text);
  const Llvm llvm;
  std::map<std::string, std::uint64_t> differences;  // by what differs, the first place
  std::size_t agreed = 0;
  std::size_t unknown = 0;
  for (std::size_t at = 0; at < code.size();) {
    const std::uint64_t address = text->sh_addr + at;
    const auto read = read_instruction(code.subspan(at), address);
    const bool locked = code[at] == lock;
    auto other = llvm.read(code.subspan(at + locked), address + locked);
    if (other) other->length += locked;
    if (!read || !other) {
      ++unknown;
      at += other ? other->length : 1;
      continue;
    }
    if (const std::string what = difference(*read, *other); !what.empty())
      differences.emplace(other->name + ": " + what, address);
    ++agreed;
    at += read->length;
  }
  EXPECT_THAT(differences, testing::IsEmpty());
  EXPECT_GT(agreed, 10'000U);
  EXPECT_LT(unknown, agreed / 100);
}

INSTANTIATE_TEST_SUITE_P(Installed, SharedLibrary,
                         testing::Values("/lib/x86_64-linux-gnu/libc.so.6",
                                         "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"));

}  // namespace
}  // namespace stab::instrumenter
