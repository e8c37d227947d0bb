// SPDX-License-Identifier: MIT
// The differences between the versions of LLVM that the pass is built for. Nothing else in the
// pass asks for a version.
#pragma once

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#if LLVM_VERSION_MAJOR >= 22
#include <llvm/Plugins/PassPlugin.h>
#else
#include <llvm/Passes/PassPlugin.h>
#endif
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <functional>
#include <memory>
#include <string>

namespace stab::pass {

// Calls `add` where the optimizer has finished with a module.
inline void at_the_end(llvm::PassBuilder& builder,
                       const std::function<void(llvm::ModulePassManager&, bool unoptimized)>& add) {
#if LLVM_VERSION_MAJOR >= 20
  builder.registerOptimizerLastEPCallback([add](llvm::ModulePassManager& passes,
                                                llvm::OptimizationLevel level,
                                                llvm::ThinOrFullLTOPhase /*phase*/) {
    add(passes, level == llvm::OptimizationLevel::O0);
  });
#else
  builder.registerOptimizerLastEPCallback(
      [add](llvm::ModulePassManager& passes, llvm::OptimizationLevel level) {
        add(passes, level == llvm::OptimizationLevel::O0);
      });
#endif
}

inline llvm::Value* create_stack_save(llvm::IRBuilder<>& at) {
#if LLVM_VERSION_MAJOR >= 18
  return at.CreateStackSave();
#else
  return at.CreateIntrinsic(llvm::Intrinsic::stacksave, {}, {});
#endif
}

inline void create_stack_restore(llvm::IRBuilder<>& at, llvm::Value* saved) {
#if LLVM_VERSION_MAJOR >= 18
  at.CreateStackRestore(saved);
#else
  at.CreateIntrinsic(llvm::Intrinsic::stackrestore, {}, {saved});
#endif
}

// Returns the first instruction of a new block before `next`, which runs only if `condition`
// holds, and that is rare.
inline llvm::Instruction* split_rarely(llvm::Value* condition, llvm::Instruction& next,
                                       llvm::DomTreeUpdater& updater, llvm::LoopInfo& loops) {
  constexpr unsigned never = 1;
  constexpr unsigned always = (1u << 20) - 1;
  llvm::MDNode* weights = llvm::MDBuilder(next.getContext()).createBranchWeights(never, always);
#if LLVM_VERSION_MAJOR >= 18
  return llvm::SplitBlockAndInsertIfThen(condition, next.getIterator(), /*Unreachable=*/false,
                                         weights, &updater, &loops);
#else
  return llvm::SplitBlockAndInsertIfThen(condition, &next, /*Unreachable=*/false, weights, &updater,
                                         &loops);
#endif
}

inline const llvm::Instruction* next_instruction(const llvm::Instruction& instruction) {
#if LLVM_VERSION_MAJOR >= 21
  return instruction.getNextNode();  // debug records are not instructions
#else
  return instruction.getNextNonDebugInstruction();
#endif
}

// Whether assembly that the compiler writes is in Intel's syntax (-masm=intel).
inline bool writes_intel_syntax(const llvm::Module& module) {
  const llvm::Triple triple(module.getTargetTriple());
#if LLVM_VERSION_MAJOR >= 22
  const llvm::Triple& machine = triple;
#else
  const std::string& machine = triple.str();
#endif
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(machine, error);
  if (target == nullptr) return false;
  const std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(machine));
  if (registers == nullptr) return false;
  const std::unique_ptr<llvm::MCAsmInfo> assembly(
      target->createMCAsmInfo(*registers, machine, llvm::MCTargetOptions()));
  return assembly != nullptr && assembly->getAssemblerDialect() == llvm::InlineAsm::AD_Intel;
}

// Returns how many of the low bits are 0.
inline unsigned low_zeros(const llvm::APInt& number) {
#if LLVM_VERSION_MAJOR >= 17
  return number.countr_zero();
#else
  return number.countTrailingZeros();
#endif
}

// Patch points have one name for each type of result, or one name for all.
inline bool is_patch_point(llvm::Intrinsic::ID id) {
#if LLVM_VERSION_MAJOR >= 19
  if (id == llvm::Intrinsic::experimental_patchpoint) return true;
#else
  if (id == llvm::Intrinsic::experimental_patchpoint_i64) return true;
#endif
  return id == llvm::Intrinsic::experimental_patchpoint_void;
}

// Whether the instruction turns a pointer into a number.
inline bool makes_number(unsigned opcode) {
#if LLVM_VERSION_MAJOR >= 22
  if (opcode == llvm::Instruction::PtrToAddr) return true;
#endif
  return opcode == llvm::Instruction::PtrToInt;
}

}  // namespace stab::pass
