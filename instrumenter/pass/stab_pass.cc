// SPDX-License-Identifier: MIT
// The LLVM pass plugin, which runs each part of the pass (notes.h, pads.h) in its phase, and the
// smallest part itself: registers in functions that call setjmp.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstdlib>
#include <string_view>

#include "instrumenter/pass/frame_facts.h"
#include "instrumenter/pass/llvm_versions.h"
#include "instrumenter/pass/notes.h"
#include "instrumenter/pass/pads.h"

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
  allow_larger_frame(function, 64);
  llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), false);
  const char* clobbers = may_need_base_pointer(function) ? "~{r12},~{r13},~{r14},~{r15}"
                                                         : "~{rbx},~{r12},~{r13},~{r14},~{r15}";
  builder.CreateCall(llvm::InlineAsm::get(type, "", clobbers, true));
}

}  // namespace

// A function that calls setjmp gets a prologue that saves all registers it has to preserve. A
// jmp_buf then holds only this function's values. Its callers' values lie on the stack, where the
// runtime finds them.
void save_caller_registers(llvm::Module& module) {
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && !function.hasFnAttribute(llvm::Attribute::Naked) &&
        can_return_twice(function))
      claim_registers(function);
}

}  // namespace stab::pass

namespace {

// The plugin. Moving code needs no pass: STAB_NO_MOVE is a section of its own, which the
// post-link step sees. The stack pads change the code itself, exactly once per module, after all
// optimizations. But LLVM calls a plugin more than once: for ThinLTO, in the compile step and in
// the link step. So the driver tells the plugin its phase, and the plugin leaves a flag in each
// module that it has handled.

constexpr const char* flag = "stab.instrumented";

// STAB_PASS_PHASE, set by the driver. Anything else counts as `compile`.
enum class Phase : unsigned char {
  compile,    // no link-time optimization: this compilation is the last step
  prelink,    // either kind of LTO: the link step follows
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

// STAB_STACK; anything else counts as `frame`.
enum class Mode : unsigned char { off, frame, table };

// The pass knows the frames of x86-64 Linux only.
bool is_our_machine(const llvm::Module& module) {
  const llvm::Triple triple(module.getTargetTriple());
  return triple.getArch() == llvm::Triple::x86_64 && triple.isOSLinux() && !triple.isX32();
}

Mode mode_for(const llvm::Module& module) {
  // With -mstack-alignment, LLVM relies on the size of each frame.
  if (module.getOverrideStackAlignment() > 16 || !is_our_machine(module)) return Mode::off;
  const char* text = std::getenv("STAB_STACK");
  const std::string_view mode = text == nullptr ? "" : text;
  if (mode == "off") return Mode::off;
  return mode == "table" ? Mode::table : Mode::frame;
}

void add_pads(llvm::Module& module, Mode mode, bool unoptimized) {
  if (mode == Mode::off) return;
  stab::pass::add_loop_pads(module);
  if (mode == Mode::frame)
    stab::pass::add_static_pads(module, unoptimized);
  else
    stab::pass::add_entry_pads(module);
  stab::pass::add_call_types(module);
}

struct InstrumentOnce : llvm::PassInfoMixin<InstrumentOnce> {
  bool unoptimized;  // this compilation makes the code, without optimization
  llvm::PreservedAnalyses run(llvm::Module& module,
                              llvm::ModuleAnalysisManager& /*analyses*/) const {
    if (module.getModuleFlag(flag) != nullptr) return llvm::PreservedAnalyses::all();
    module.addModuleFlag(llvm::Module::Override, flag, 1);
    const Mode mode = mode_for(module);
    const auto compiled = stab::pass::find_compiled(module);
    const auto alone = stab::pass::find_left_alone(module, mode != Mode::frame);
    if (is_our_machine(module)) stab::pass::note_used_bytes(module);
    stab::pass::save_caller_registers(module);
    add_pads(module, mode, unoptimized);
    if (is_our_machine(module)) stab::pass::note_compiled_frames(compiled);
    if (is_our_machine(module)) stab::pass::note_left_alone(module, alone);
    return llvm::PreservedAnalyses::none();
  }
  // The pass also runs on functions that must not be optimized.
  static bool isRequired() { return true; }
};

void add_callbacks(llvm::PassBuilder& builder) {
  stab::pass::at_the_end(builder, [](llvm::ModulePassManager& passes, bool unoptimized) {
    const Phase phase = phase_of_environment();
    if (phase == Phase::compile || phase == Phase::link_thin)
      passes.addPass(InstrumentOnce{.unoptimized = phase == Phase::compile && unoptimized});
  });
  builder.registerFullLinkTimeOptimizationLastEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel /*level*/) {
        if (phase_of_environment() == Phase::link_full)
          passes.addPass(InstrumentOnce{.unoptimized = false});
      });
}

}  // namespace

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "stab-pass", STAB_VERSION, add_callbacks};
}
