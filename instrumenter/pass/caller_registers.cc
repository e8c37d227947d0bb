// SPDX-License-Identifier: MIT
#include "instrumenter/pass/caller_registers.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace stab::pass {
namespace {

bool can_return_twice(const llvm::Function& function) {
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
      if (call->hasFnAttr(llvm::Attribute::ReturnsTwice)) return true;
  return false;
}

// The compiler needs rbx itself if a frame is aligned and its size varies.
bool may_need_base_pointer(const llvm::Function& function) {
  constexpr unsigned stack_alignment = 16;
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    if (const auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      if (!local->isStaticAlloca() || local->getAlign().value() > stack_alignment) return true;
  return false;
}

void claim_registers(llvm::Function& function) {
  function.addFnAttr("frame-pointer", "all");  // this saves rbp
  llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), false);
  const char* clobbers = may_need_base_pointer(function) ? "~{r12},~{r13},~{r14},~{r15}"
                                                         : "~{rbx},~{r12},~{r13},~{r14},~{r15}";
  builder.CreateCall(llvm::InlineAsm::get(type, "", clobbers, true));
}

}  // namespace

void save_caller_registers(llvm::Module& module) {
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && !function.hasFnAttribute(llvm::Attribute::Naked) &&
        can_return_twice(function))
      claim_registers(function);
}

}  // namespace stab::pass
