// SPDX-License-Identifier: MIT
#include "instrumenter/pass/frame_facts.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace stab::pass {
namespace {

// Becomes a jump, or may.
bool ends_by(const llvm::CallInst& call) {
  const llvm::Instruction* next = call.getNextNonDebugInstruction();
  return call.isTailCall() && next != nullptr && llvm::isa<llvm::ReturnInst>(next);
}

bool is_usual_convention(const llvm::Function& function) {
  return function.getCallingConv() == llvm::CallingConv::C ||
         function.getCallingConv() == llvm::CallingConv::Fast;
}

}  // namespace

bool is_left_alone(const llvm::Function& function) {
  using llvm::Attribute;
  if (function.isDeclaration() || function.hasAvailableExternallyLinkage()) return true;
  for (const Attribute::AttrKind kind :
       {Attribute::Naked, Attribute::SafeStack, Attribute::SanitizeAddress,
        Attribute::SanitizeHWAddress, Attribute::SanitizeMemory, Attribute::SanitizeThread,
        Attribute::SanitizeMemTag, Attribute::PresplitCoroutine})
    if (function.hasFnAttribute(kind)) return true;
  return function.hasFnAttribute("probe-stack") || function.hasFnAttribute("split-stack") ||
         function.hasFnAttribute("no-stack-pad") || function.hasGC() ||
         !is_usual_convention(function);
}

bool is_real_call(const llvm::CallBase& call) {
  if (call.isInlineAsm() || llvm::isa<llvm::IntrinsicInst>(call)) return false;
  const auto* plain = llvm::dyn_cast<llvm::CallInst>(&call);
  return plain == nullptr || !ends_by(*plain);
}

}  // namespace stab::pass
