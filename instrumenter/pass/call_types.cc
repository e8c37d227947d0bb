// SPDX-License-Identifier: MIT
#include "instrumenter/pass/call_types.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>

#include <set>
#include <string>

#include "instrumenter/pass/frame_facts.h"

namespace stab::pass {
namespace {

// Each version of LLVM must give the same number, because objects of different versions call each
// other.
std::uint32_t number_of(const llvm::FunctionType& type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return static_cast<std::uint32_t>(llvm::xxHash64(text)) | 1u;
}

struct Calls {
  llvm::CallBase* first = nullptr;
  std::set<std::uint32_t> by_pointer;
};

Calls calls_of(llvm::Function& function) {
  Calls calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr || call->isInlineAsm() || llvm::isa<llvm::IntrinsicInst>(call)) continue;
    if (calls.first == nullptr) calls.first = call;
    if (!llvm::isa<llvm::GlobalValue>(call->getCalledOperand()->stripPointerCasts()))
      calls.by_pointer.insert(number_of(*call->getFunctionType()));
  }
  return calls;
}

std::string call_record(std::uint32_t own, const std::set<std::uint32_t>& called) {
  std::string text = "7744:\n\t.pushsection .stab_calls,\"?\",@progbits\n\t.quad 7744b\n\t.long " +
                     std::to_string(own) + "\n\t.short " + std::to_string(called.size());
  for (const std::uint32_t type : called) text += "\n\t.long " + std::to_string(type);
  return text + "\n\t.popsection";
}

}  // namespace

void add_call_types(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (is_left_alone(function)) continue;
    const Calls calls = calls_of(function);
    const bool may_be_taken = !function.hasLocalLinkage() || function.hasAddressTaken();
    const std::uint32_t own = may_be_taken ? number_of(*function.getFunctionType()) : 0;
    // A function that calls nothing ends every chain.
    if (calls.first == nullptr || (own == 0 && calls.by_pointer.empty())) continue;
    llvm::IRBuilder<> before(calls.first);
    auto* shape = llvm::FunctionType::get(before.getVoidTy(), false);
    before.CreateCall(llvm::InlineAsm::get(shape, call_record(own, calls.by_pointer), "", true))
        ->setDoesNotThrow();
  }
}

}  // namespace stab::pass
