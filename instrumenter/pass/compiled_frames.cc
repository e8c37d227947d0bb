// SPDX-License-Identifier: MIT
#include "instrumenter/pass/compiled_frames.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <array>

#include "instrumenter/pass/frame_facts.h"

namespace stab::pass {
namespace {

constexpr const char* compiled_record =
    "7745:\n\t.pushsection .stab_compiled,\"?\",@progbits\n\t.quad 7745b\n\t.popsection";

// Whether the assembly may contain instructions that are written as data, or by a macro.
bool may_hide_instructions(const llvm::InlineAsm& code) {
  static constexpr std::array<llvm::StringRef, 16> words = {
      ".byte", ".2byte", ".4byte", ".8byte", ".word",  ".hword",   ".value", ".short",
      ".int",  ".long",  ".quad",  ".octa",  ".macro", ".include", ".inc",   "\\"};
  const std::string lower = llvm::StringRef(code.getAsmString()).lower();
  return std::ranges::any_of(
      words, [&](llvm::StringRef word) { return llvm::StringRef(lower).contains(word); });
}

bool has_variable_objects(const llvm::Function& function) {
  return std::ranges::any_of(llvm::instructions(function), [](const llvm::Instruction& i) {
    const auto* object = llvm::dyn_cast<llvm::AllocaInst>(&i);
    return object != nullptr && !object->isStaticAlloca();
  });
}

bool is_compiled(const llvm::Function& function) {
  if (function.hasFnAttribute(llvm::Attribute::Naked) || has_special_frame(function)) return false;
  return std::ranges::none_of(llvm::instructions(function), [](const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    const auto* code =
        call == nullptr ? nullptr : llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
    return code != nullptr && may_hide_instructions(*code);
  });
}

}  // namespace

std::vector<llvm::Function*> find_compiled(llvm::Module& module) {
  std::vector<llvm::Function*> found;
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
        is_compiled(function))
      found.push_back(&function);
  return found;
}

void note_compiled_frames(const std::vector<llvm::Function*>& compiled) {
  for (llvm::Function* function : compiled) {
    if (!has_variable_objects(*function)) continue;
    llvm::IRBuilder<> begin(&*function->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    auto* shape = llvm::FunctionType::get(begin.getVoidTy(), false);
    begin.CreateCall(llvm::InlineAsm::get(shape, compiled_record, "", true))->setDoesNotThrow();
  }
}

}  // namespace stab::pass
