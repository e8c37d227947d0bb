// SPDX-License-Identifier: MIT
#include "instrumenter/pass/static_pads.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <string>

#include "instrumenter/pass/frame_facts.h"

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

std::string pad_record(unsigned flags, bool placed) {
  return "7741:\n\t.pushsection .stab_frames,\"?\",@progbits\n\t.quad 7741b\n\t.byte " +
         std::to_string(flags) +
         "\n\t.byte 7743f-7742f\n7742:" + (placed ? "\tleaq $0, %rax" : "") +
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

void add_pad(llvm::Function& function, const Findings& found, bool unoptimized) {
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
  const unsigned flags = (clean ? all_arguments_in_registers : 0) |
                         (at_once ? 0 : rarest_object_on_top) |
                         (unoptimized && may_raise_spilled(function, found) ? spilled_below : 0);
  llvm::IRBuilder<> before(at_once ? pad->getNextNode() : found.call);
  // An object whose address is taken asks for a strong stack protector, so the record does without
  // the address. The post-link step then does not know the object's place and leaves it in.
  if (function.hasFnAttribute(llvm::Attribute::StackProtectStrong)) {
    auto* shape = llvm::FunctionType::get(before.getVoidTy(), false);
    before.CreateCall(llvm::InlineAsm::get(shape, pad_record(flags, false), "", true))
        ->setDoesNotThrow();
    return;
  }
  auto* shape = llvm::FunctionType::get(before.getVoidTy(), {pad->getType()}, false);
  auto* code = llvm::InlineAsm::get(shape, pad_record(flags, true), "*m", /*hasSideEffects=*/true);
  llvm::CallInst* call = before.CreateCall(code, {pad});
  call->addParamAttr(0, llvm::Attribute::get(context, llvm::Attribute::ElementType, type));
  call->setDoesNotThrow();
}

}  // namespace

unsigned add_static_pads(llvm::Module& module, bool unoptimized) {
  unsigned count = 0;
  for (llvm::Function& function : module) {
    if (is_left_alone(function) || has_special_frame(function) || remembers_its_place(function))
      continue;
    const Findings found = look_at(function);
    if (found.call == nullptr) continue;
    add_pad(function, found, unoptimized);
    ++count;
  }
  return count;
}

}  // namespace stab::pass
