// SPDX-License-Identifier: MIT
// The LLVM pass plugin. Moving code needs no pass: STAB_NO_MOVE is a section of its own, which the
// post-link step sees. What changes the code itself (the stack pads) has to do so exactly once per
// module, after all optimizations, and LLVM calls a plugin at more places than one: twice for
// ThinLTO, in the compile and the link step. So the plugin keeps the books already: it knows its
// phase from the driver, and leaves a module flag where it has been.
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include <cstdlib>
#include <string_view>

#include "instrumenter/pass/caller_registers.h"

namespace {

constexpr const char* flag = "stab.instrumented";

// STAB_PASS_PHASE, set by the driver. Anything else counts as `compile`.
enum class Phase : unsigned char {
  compile,    // no link-time optimization: this compilation is the end
  prelink,    // of either kind of LTO: the link step comes
  link_full,  // the whole program in one module
  link_thin,  // one module of many
};

Phase phase_of_environment() {
  const char* text = std::getenv("STAB_PASS_PHASE");
  const std::string_view phase = text == nullptr ? "" : text;
  if (phase == "prelink") return Phase::prelink;
  if (phase == "link-full") return Phase::link_full;
  if (phase == "link-thin") return Phase::link_thin;
  return Phase::compile;
}

struct InstrumentOnce : llvm::PassInfoMixin<InstrumentOnce> {
  static llvm::PreservedAnalyses run(llvm::Module& module,
                                     llvm::ModuleAnalysisManager& /*analyses*/) {
    if (module.getModuleFlag(flag) != nullptr) return llvm::PreservedAnalyses::all();
    module.addModuleFlag(llvm::Module::Override, flag, 1);
    stab::pass::save_caller_registers(module);
    return llvm::PreservedAnalyses::none();
  }
  // Also for functions that are not to be optimized.
  static bool isRequired() { return true; }
};

void add_callbacks(llvm::PassBuilder& builder) {
  builder.registerOptimizerLastEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel /*level*/) {
        const Phase phase = phase_of_environment();
        if (phase == Phase::compile || phase == Phase::link_thin) passes.addPass(InstrumentOnce());
      });
  builder.registerFullLinkTimeOptimizationLastEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel /*level*/) {
        if (phase_of_environment() == Phase::link_full) passes.addPass(InstrumentOnce());
      });
}

}  // namespace

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "stab-pass", STAB_VERSION, add_callbacks};
}
