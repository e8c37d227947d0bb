// SPDX-License-Identifier: MIT
#include "instrumenter/pass/frame_facts.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <string>

namespace stab::pass {
namespace {

// Frames that others look into, or whose shape is not the usual one.
bool is_special(const llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::localescape:
    case llvm::Intrinsic::localrecover:
    case llvm::Intrinsic::addressofreturnaddress:
    case llvm::Intrinsic::sponentry:
    case llvm::Intrinsic::eh_return_i32:
    case llvm::Intrinsic::eh_return_i64:
    case llvm::Intrinsic::eh_unwind_init:
    case llvm::Intrinsic::eh_sjlj_setjmp:
    case llvm::Intrinsic::eh_sjlj_longjmp:
    case llvm::Intrinsic::read_register:
    case llvm::Intrinsic::write_register:
    case llvm::Intrinsic::experimental_stackmap:
    case llvm::Intrinsic::experimental_patchpoint_void:
    case llvm::Intrinsic::experimental_patchpoint:
    case llvm::Intrinsic::experimental_gc_statepoint:
      return true;
    default:
      return false;
  }
}

bool touches_stack(const llvm::InlineAsm& code) {
  static constexpr std::array<llvm::StringRef, 8> words = {"sp",    "push",  "pop", "call",
                                                           "leave", "enter", "bp",  "ret"};
  const std::string lower = llvm::StringRef(code.getAsmString()).lower();
  const std::string clobbers = llvm::StringRef(code.getConstraintString()).lower();
  return code.isAlignStack() ||
         std::ranges::any_of(
             words, [&](llvm::StringRef w) { return llvm::StringRef(lower).contains(w); }) ||
         llvm::StringRef(clobbers).contains("{rsp}") ||
         llvm::StringRef(clobbers).contains("{rbp}") ||
         llvm::StringRef(clobbers).contains("{esp}") || llvm::StringRef(clobbers).contains("{ebp}");
}

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

bool has_special_frame(const llvm::Function& function) {
  return std::ranges::any_of(llvm::instructions(function), [](const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    if (call == nullptr) return false;
    const auto* code = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
    return is_special(call->getIntrinsicID()) || (code != nullptr && touches_stack(*code));
  });
}

bool passes_over_aligned(const llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  const auto needs = [&](const llvm::CallBase& call, unsigned i) {
    llvm::Type* type =
        call.isByValArgument(i) ? call.getParamByValType(i) : call.getArgOperand(i)->getType();
    const llvm::Align given =
        call.isByValArgument(i) ? call.getParamAlign(i).valueOrOne() : llvm::Align(1);
    return type->isSized() ? std::max(layout.getABITypeAlign(type), given) : given;
  };
  return std::ranges::any_of(llvm::instructions(function), [&](const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    if (call == nullptr || call->isInlineAsm()) return false;
    for (unsigned k = 0; k < call->arg_size(); ++k)
      if (needs(*call, k) > llvm::Align(16)) return true;
    return false;
  });
}

bool is_real_call(const llvm::CallBase& call) {
  if (call.isInlineAsm() || llvm::isa<llvm::IntrinsicInst>(call)) return false;
  const auto* plain = llvm::dyn_cast<llvm::CallInst>(&call);
  return plain == nullptr || !ends_by(*plain);
}

}  // namespace stab::pass
