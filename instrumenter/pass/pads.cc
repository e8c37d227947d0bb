// SPDX-License-Identifier: MIT
#include "instrumenter/pass/pads.h"

#include <llvm/Analysis/DomTreeUpdater.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "instrumenter/pass/frame_facts.h"
#include "instrumenter/pass/llvm_versions.h"

namespace stab::pass {
namespace {

constexpr unsigned pad_words = 18;  // of 8 bytes; with 16, LLVM would write `add $-128, %rsp`

// Whether this intrinsic reads above the function's frame, unless that has a frame pointer.
bool looks_above(const llvm::Intrinsic::ID id) {
  return id == llvm::Intrinsic::returnaddress || id == llvm::Intrinsic::frameaddress ||
         id == llvm::Intrinsic::eh_dwarf_cfa || id == llvm::Intrinsic::vastart;
}

// Adds the registers that a value takes as an argument at most. Returns false if the value may go
// to the stack.
bool add_registers(const llvm::Type& type, unsigned& general, unsigned& vector) {
  if (type.isPointerTy()) return ++general, true;
  if (type.isIntegerTy()) return general += (type.getIntegerBitWidth() + 63) / 64, true;
  if (type.isFloatTy() || type.isDoubleTy() || type.isHalfTy() || type.isBFloatTy() ||
      type.isFP128Ty())
    return ++vector, true;
  if (const auto* fixed = llvm::dyn_cast<llvm::FixedVectorType>(&type)) {
    if (fixed->getElementType()->isIntegerTy(1)) return false;
    vector += std::max(1u, static_cast<unsigned>(fixed->getPrimitiveSizeInBits() + 127) / 128);
    return true;
  }
  return false;
}

bool takes_registers_only(const llvm::Function& function) {
  if (function.isVarArg()) return false;
  unsigned general = 0;
  unsigned vector = 0;
  const llvm::Type* result = function.getReturnType();
  // A value that is returned in memory has its address as an argument.
  if (!result->isVoidTy() && !result->isPointerTy() && !result->isFloatTy() &&
      !result->isDoubleTy() && !(result->isIntegerTy() && result->getIntegerBitWidth() <= 128))
    ++general;
  for (const llvm::Argument& argument : function.args()) {
    if (argument.hasByValAttr() || argument.hasInAllocaAttr() || argument.hasPreallocatedAttr() ||
        argument.hasAttribute(llvm::Attribute::InReg) || argument.hasNestAttr())
      return false;
    if (!add_registers(*argument.getType(), general, vector)) return false;
  }
  return general <= 6 && vector <= 8;
}

struct Findings {
  llvm::CallBase* call = nullptr;  // the record goes before it
  bool above = false;
  bool variable = false;  // it has objects of variable size
};

Findings look_at(llvm::Function& function) {
  Findings found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (const auto* object = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      found.variable |= !object->isStaticAlloca();
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr) continue;
    const llvm::Intrinsic::ID id = call->getIntrinsicID();
    found.above |= looks_above(id);
    if (found.call == nullptr && is_real_call(*call)) found.call = call;
  }
  return found;
}

// The instruction that shows where the object is. GNU as accepts one syntax at a time.
std::string place_of_object(bool intel) {
  const std::string place = "leaq $0, %rax";
  return intel ? ".att_syntax prefix\n\t" + place + "\n\t.intel_syntax noprefix" : place;
}

// `place`: place_of_object(), or nothing.
std::string pad_record(unsigned flags, const std::string& place) {
  return "7741:\n\t.pushsection .szc_frames,\"?\",@progbits\n\t.quad 7741b\n\t.byte " +
         std::to_string(flags) + "\n\t.byte 7743f-7742f\n7742:\t" + place +
         "\n7743:\n\t.popsection";
}

// Returns the place behind the other objects, or the start of the function if the record comes
// before that place.
llvm::Instruction* place_for_pad(llvm::Function& function, const llvm::Instruction* record) {
  llvm::BasicBlock& entry = function.getEntryBlock();
  llvm::Instruction* last = nullptr;
  for (llvm::Instruction& instruction : entry)
    if (llvm::isa<llvm::AllocaInst>(instruction)) last = &instruction;
  const bool fits = record == nullptr || record->getParent() != &entry ||
                    (last != nullptr && last->comesBefore(record));
  return last != nullptr && fits ? last->getNextNode() : &*entry.getFirstNonPHIOrDbgOrAlloca();
}

// Stack protectors reorder objects, and debuggers find objects of variable size by spilled values.
bool may_raise_spilled(const llvm::Function& function, const Findings& found) {
  if (found.variable && function.getSubprogram() != nullptr) return false;
  return !(function.hasFnAttribute(llvm::Attribute::StackProtect) ||
           function.hasFnAttribute(llvm::Attribute::StackProtectStrong) ||
           function.hasFnAttribute(llvm::Attribute::StackProtectReq));
}

void add_pad(llvm::Function& function, const Findings& found, bool unoptimized, bool intel) {
  llvm::LLVMContext& context = function.getContext();
  auto* word = llvm::Type::getInt64Ty(context);
  // An array would ask for stack protectors.
  auto* type =
      llvm::StructType::get(context, llvm::SmallVector<llvm::Type*, pad_words>(pad_words, word));
  // Optimized functions set up their frame before their first call. Others do it at once, and
  // their first call may be in a part that is never reached.
  const bool at_once = unoptimized || function.hasOptNone();
  llvm::IRBuilder<> entry(place_for_pad(function, at_once ? nullptr : found.call));
  auto* pad = entry.CreateAlloca(type, nullptr, "stab.pad");
  // 144 is a multiple of 16, so with an alignment of 8 the spilled values below keep the alignment
  // that they have without the object.
  pad->setAlignment(llvm::Align(unoptimized ? 8 : 16));
  const bool clean = takes_registers_only(function) && !found.above;
  // With a frame pointer, accesses above the frame do not depend on its size.
  if (!clean) function.addFnAttr("frame-pointer", "all");
  allow_larger_frame(function, pad_words * 8 + frame_alignment(function) + (clean ? 0 : 16));
  const unsigned flags = (clean ? all_arguments_in_registers : 0) |
                         (at_once ? 0 : rarest_object_on_top) |
                         (unoptimized && may_raise_spilled(function, found) ? spilled_below : 0);
  llvm::IRBuilder<> before(at_once ? pad->getNextNode() : found.call);
  // An object whose address is taken asks for a strong stack protector, so the record does without
  // the address. The post-link step then does not know the object's place and leaves it in.
  if (function.hasFnAttribute(llvm::Attribute::StackProtectStrong)) {
    auto* shape = llvm::FunctionType::get(before.getVoidTy(), false);
    before.CreateCall(llvm::InlineAsm::get(shape, pad_record(flags, ""), "", true))
        ->setDoesNotThrow();
    return;
  }
  auto* shape = llvm::FunctionType::get(before.getVoidTy(), {pad->getType()}, false);
  auto* code = llvm::InlineAsm::get(shape, pad_record(flags, place_of_object(intel)), "*m",
                                    /*hasSideEffects=*/true);
  llvm::CallInst* call = before.CreateCall(code, {pad});
  call->addParamAttr(0, llvm::Attribute::get(context, llvm::Attribute::ElementType, type));
  call->setDoesNotThrow();
}

}  // namespace

unsigned add_static_pads(llvm::Module& module, bool unoptimized) {
  const bool intel = writes_intel_syntax(module);
  unsigned count = 0;
  for (llvm::Function& function : module) {
    if (is_left_alone(function) || has_special_frame(function) || remembers_its_place(function))
      continue;
    const Findings found = look_at(function);
    if (found.call == nullptr) continue;
    add_pad(function, found, unoptimized, intel);
    ++count;
  }
  return count;
}

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
llvm::Value* take_byte(llvm::IRBuilder<>& entry, llvm::GlobalVariable& bytes) {
  auto* byte = entry.getInt8Ty();
  llvm::GlobalVariable& index = add_bytes(*bytes.getParent(), *byte, nullptr);
  llvm::Value* now = entry.CreateLoad(byte, &index, /*isVolatile=*/true);
  entry.CreateStore(entry.CreateAdd(now, entry.getInt8(1)), &index, true);
  llvm::Value* place = entry.CreateGEP(byte, &bytes, entry.CreateZExt(now, entry.getInt64Ty()));
  return entry.CreateLoad(byte, place, true);
}

constexpr unsigned table_size = 256;  // the index is a byte, so it goes on from the start

std::string entry_record() {
  return "7746:\n\t.pushsection .szc_entries,\"?\",@progbits\n\t.quad 7746b\n\t.quad "
         "${1:c}\n\t.long " +
         std::to_string(table_size) + "\n\t.popsection";
}

void add_pad(llvm::Function& function) {
  llvm::LLVMContext& context = function.getContext();
  llvm::IRBuilder<> entry(context);
  llvm::BasicBlock& block = function.getEntryBlock();
  entry.SetInsertPoint(&block, block.getFirstNonPHIOrDbgOrAlloca());
  llvm::GlobalVariable& bytes = add_bytes(
      *function.getParent(), *llvm::ArrayType::get(entry.getInt8Ty(), table_size), "stab_pads");
  // An object of variable size needs a frame pointer, and is not part of the frame's own size.
  allow_larger_frame(function, frame_alignment(function) + 16);
  llvm::Value* units = take_byte(entry, bytes);
  llvm::Value* size = entry.CreateShl(entry.CreateZExt(units, entry.getInt64Ty()), 4);
  auto* pad = entry.CreateAlloca(entry.getInt8Ty(), size);
  pad->setAlignment(llvm::Align(16));
  pad->setMetadata("stack-protector",
                   llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(entry.getInt32(0))));
  auto* shape =
      llvm::FunctionType::get(entry.getVoidTy(), {pad->getType(), bytes.getType()}, false);
  entry
      .CreateCall(llvm::InlineAsm::get(shape, entry_record(), "r,i", /*hasSideEffects=*/true),
                  {pad, &bytes})
      ->setDoesNotThrow();
}

}  // namespace

unsigned add_entry_pads(llvm::Module& module) {
  unsigned count = 0;
  for (llvm::Function& function : module) {
    if (is_left_alone(function) || has_special_frame(function) || needs_rbx(function) ||
        passes_over_aligned(function) || remembers_its_place(function) || !calls(function))
      continue;
    add_pad(function);
    ++count;
  }
  return count;
}

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
  // For a frame pointer, a stack pointer, and the values of each loop in code without optimization.
  if (count != 0) allow_larger_frame(function, 32 + std::uint64_t{24} * count);
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
