// SPDX-License-Identifier: MIT
#include "instrumenter/pass/loop_pads.h"

#include <llvm/Analysis/DomTreeUpdater.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "instrumenter/pass/frame_facts.h"
#include "instrumenter/pass/llvm_versions.h"

namespace stab::pass {
namespace {

constexpr const char* section = "stab_pads";  // one byte per function

// Finds the functions that calls of `creator` pass as this argument.
void add_starts(const llvm::Module& module, llvm::StringRef creator, unsigned argument,
                unsigned arguments, std::set<llvm::Function*>& found) {
  const llvm::Function* create = module.getFunction(creator);
  if (create == nullptr) return;
  for (const llvm::User* user : create->users())
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
        call != nullptr && call->getCalledOperand() == create && call->arg_size() == arguments)
      if (auto* start = llvm::dyn_cast<llvm::Function>(call->getArgOperand(argument)))
        found.insert(start);
}

// libstdc++ calls this function in a new thread: std::thread::_State_impl<...>::_M_run().
bool runs_std_thread(std::string_view name) {
  return name.starts_with("_ZNSt6thread11_State_impl") && name.ends_with("6_M_runEv");
}

std::set<llvm::Function*> long_lived_functions(llvm::Module& module) {
  std::set<llvm::Function*> found;
  if (llvm::Function* main = module.getFunction("main")) found.insert(main);
  add_starts(module, "pthread_create", 2, 4, found);
  add_starts(module, "thrd_create", 1, 3, found);
  for (llvm::Function& function : module)
    if (runs_std_thread(function.getName())) found.insert(&function);
  return found;
}

// Whether nothing else moves the stack pointer between calls.
bool has_plain_stack(const llvm::Function& function) {
  return std::ranges::all_of(llvm::instructions(function), [](const llvm::Instruction& i) {
    if (const auto* object = llvm::dyn_cast<llvm::AllocaInst>(&i)) return object->isStaticAlloca();
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    return call == nullptr || !(call->isMustTailCall() || call->isInlineAsm() ||
                                call->hasFnAttr(llvm::Attribute::ReturnsTwice) ||
                                call->getIntrinsicID() == llvm::Intrinsic::stacksave);
  });
}

bool calls(const llvm::Loop& loop) {
  return std::ranges::any_of(loop.blocks(), [](const llvm::BasicBlock* block) {
    return std::ranges::any_of(*block, [](const llvm::Instruction& i) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
      return call != nullptr && is_real_call(*call);
    });
  });
}

// Writes zeroes. It makes no call, because sanitizers or the program might have replaced the
// callee. It does not tell the optimizer about the memory, because nobody reads it.
void clear(llvm::IRBuilder<>& at, llvm::Value* start, llvm::Value* size) {
  llvm::Type* address = start->getType();
  llvm::Type* number = size->getType();
  auto* shape = llvm::FunctionType::get(llvm::StructType::get(address, number),
                                        {at.getInt8Ty(), address, number}, false);
  at.CreateCall(
        llvm::InlineAsm::get(shape, "rep stosb", "={di},={cx},{ax},0,1,~{dirflag},~{fpsr},~{flags}",
                             /*hasSideEffects=*/true),
        {at.getInt8(0), start, size})
      ->setDoesNotThrow();
}

// The bytes that a pad newly covers are remains of frames. Return addresses among them would keep
// old layouts for as long as the loop runs.
void clear_new_part(llvm::Instruction& next, llvm::Value* pad, llvm::Value* before,
                    llvm::DominatorTree& dominators, llvm::LoopInfo& loops) {
  llvm::IRBuilder<> at(&next);
  llvm::Value* grows = at.CreateICmpULT(pad, before);
  llvm::DomTreeUpdater updater(dominators, llvm::DomTreeUpdater::UpdateStrategy::Eager);
  llvm::IRBuilder<> rarely(split_rarely(grows, next, updater, loops));
  clear(rarely, pad, rarely.CreatePtrDiff(rarely.getInt8Ty(), before, pad));
}

// Saves the stack pointer as it is between calls. The way into a loop may be part of a cycle that
// LLVM does not know as a loop, so the stack pointer would be lower there each time.
llvm::Value* save_stack_pointer(llvm::Function& function) {
  llvm::BasicBlock& entry = function.getEntryBlock();
  llvm::IRBuilder<> begin(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
  return create_stack_save(begin);
}

void add_pad(llvm::Loop& loop, llvm::Value* saved, llvm::GlobalVariable& byte,
             llvm::DominatorTree& dominators, llvm::LoopInfo& loops) {
  llvm::IRBuilder<> inside(loop.getHeader(), loop.getHeader()->getFirstInsertionPt());
  llvm::Value* last = create_stack_save(inside);
  create_stack_restore(inside, saved);
  llvm::Value* units = inside.CreateLoad(inside.getInt8Ty(), &byte, /*isVolatile=*/true);
  llvm::Value* size = inside.CreateShl(inside.CreateZExt(units, inside.getInt64Ty()), 4);
  auto* pad = inside.CreateAlloca(inside.getInt8Ty(), size);
  pad->setAlignment(llvm::Align(16));
  pad->setMetadata(
      "stack-protector",
      llvm::MDNode::get(byte.getContext(), llvm::ConstantAsMetadata::get(inside.getInt32(0))));
  auto* shape = llvm::FunctionType::get(inside.getVoidTy(), {pad->getType()}, false);
  llvm::CallInst* use =
      inside.CreateCall(llvm::InlineAsm::get(shape, "", "r", /*hasSideEffects=*/true), {pad});
  use->setDoesNotThrow();
  clear_new_part(*use->getNextNode(), pad, last, dominators, loops);
}

unsigned add_pads(llvm::Function& function) {
  if (is_left_alone(function) || !has_plain_stack(function) || passes_over_aligned(function))
    return 0;
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  llvm::GlobalVariable* byte = nullptr;
  llvm::Value* saved = nullptr;
  unsigned count = 0;
  for (llvm::Loop* loop : loops) {
    if (!calls(*loop) || loop->getHeader()->isEHPad()) continue;
    if (byte == nullptr) {
      auto* type = llvm::Type::getInt8Ty(function.getContext());
      byte = new llvm::GlobalVariable(*function.getParent(), type, false,
                                      llvm::GlobalValue::PrivateLinkage,
                                      llvm::ConstantInt::get(type, 0), "stab.byte");
      byte->setSection(section);
      byte->setAlignment(llvm::Align(1));
      saved = save_stack_pointer(function);
    }
    add_pad(*loop, saved, *byte, dominators, loops);
    ++count;
  }
  return count;
}

}  // namespace

unsigned add_loop_pads(llvm::Module& module) {
  // In the next iteration of the loop, the frames of the functions that it calls would lie
  // elsewhere.
  if (std::ranges::any_of(module, [](const llvm::Function& f) { return remembers_its_place(f); }))
    return 0;
  unsigned count = 0;
  for (llvm::Function* function : long_lived_functions(module)) count += add_pads(*function);
  return count;
}

}  // namespace stab::pass
