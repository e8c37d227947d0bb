// SPDX-License-Identifier: MIT
#include "instrumenter/pass/entry_pads.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <string>

#include "instrumenter/pass/frame_facts.h"

namespace stab::pass {
namespace {

bool calls(const llvm::Function& function) {
  return std::ranges::any_of(llvm::instructions(function), [](const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    return call != nullptr && is_real_call(*call);
  });
}

// Whether the function's assembly uses rbx. The compiler needs rbx itself for a frame of variable
// size if an object's alignment is larger than the stack's.
bool needs_rbx(const llvm::Function& function) {
  return std::ranges::any_of(llvm::instructions(function), [](const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    const auto* code =
        call == nullptr ? nullptr : llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
    return code != nullptr &&
           llvm::StringRef(code->getConstraintString()).lower().find("bx}") != std::string::npos;
  });
}

llvm::GlobalVariable& add_bytes(llvm::Module& module, llvm::Type& type, const char* section) {
  auto* bytes = new llvm::GlobalVariable(module, &type, false, llvm::GlobalValue::PrivateLinkage,
                                         llvm::Constant::getNullValue(&type), "stab.byte");
  if (section != nullptr) bytes->setSection(section);
  bytes->setAlignment(llvm::Align(1));
  return *bytes;
}

// Returns the byte that decides the size this time.
llvm::Value* take_byte(llvm::IRBuilder<>& entry, llvm::GlobalVariable& bytes, unsigned count) {
  auto* byte = entry.getInt8Ty();
  if (count == 1) return entry.CreateLoad(byte, &bytes, /*isVolatile=*/true);
  llvm::GlobalVariable& index = add_bytes(*bytes.getParent(), *byte, nullptr);
  llvm::Value* now = entry.CreateLoad(byte, &index, true);
  entry.CreateStore(entry.CreateAdd(now, entry.getInt8(1)), &index, true);
  llvm::Value* place = entry.CreateGEP(byte, &bytes, entry.CreateZExt(now, entry.getInt64Ty()));
  return entry.CreateLoad(byte, place, true);
}

std::string entry_record(unsigned count) {
  return "7746:\n\t.pushsection .stab_entries,\"?\",@progbits\n\t.quad 7746b\n\t.quad "
         "${1:c}\n\t.long " +
         std::to_string(count) + "\n\t.popsection";
}

void add_pad(llvm::Function& function, unsigned count) {
  llvm::LLVMContext& context = function.getContext();
  llvm::IRBuilder<> entry(context);
  llvm::BasicBlock& block = function.getEntryBlock();
  entry.SetInsertPoint(&block, block.getFirstNonPHIOrDbgOrAlloca());
  llvm::GlobalVariable& bytes = add_bytes(
      *function.getParent(), *llvm::ArrayType::get(entry.getInt8Ty(), count), "stab_pads");
  llvm::Value* units = take_byte(entry, bytes, count);
  llvm::Value* size = entry.CreateShl(entry.CreateZExt(units, entry.getInt64Ty()), 4);
  auto* pad = entry.CreateAlloca(entry.getInt8Ty(), size);
  pad->setAlignment(llvm::Align(16));
  pad->setMetadata("stack-protector",
                   llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(entry.getInt32(0))));
  auto* shape =
      llvm::FunctionType::get(entry.getVoidTy(), {pad->getType(), bytes.getType()}, false);
  entry
      .CreateCall(llvm::InlineAsm::get(shape, entry_record(count), "r,i", /*hasSideEffects=*/true),
                  {pad, &bytes})
      ->setDoesNotThrow();
}

}  // namespace

unsigned add_entry_pads(llvm::Module& module, unsigned bytes) {
  unsigned count = 0;
  for (llvm::Function& function : module) {
    if (is_left_alone(function) || has_special_frame(function) || needs_rbx(function) ||
        passes_over_aligned(function) || remembers_its_place(function) || !calls(function))
      continue;
    add_pad(function, bytes);
    ++count;
  }
  return count;
}

}  // namespace stab::pass
