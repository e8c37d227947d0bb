// SPDX-License-Identifier: MIT
#include "instrumenter/pass/frame_facts.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "instrumenter/pass/llvm_versions.h"

namespace stab::pass {
namespace {

// Whether others look into the frame of a function with this intrinsic, or its shape is unusual.
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
    case llvm::Intrinsic::experimental_gc_statepoint:
      return true;
    default:
      return is_patch_point(id);
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

// Whether the call becomes a jump, or may become one.
bool ends_by(const llvm::CallInst& call) {
  const llvm::Instruction* next = next_instruction(call);
  return call.isTailCall() && next != nullptr && llvm::isa<llvm::ReturnInst>(next);
}

bool is_usual_convention(const llvm::Function& function) {
  return function.getCallingConv() == llvm::CallingConv::C ||
         function.getCallingConv() == llvm::CallingConv::Fast;
}

// Traces where pointers come from: objects of the frame itself, or memory outside of it.
class Origins {
 public:
  explicit Origins(const llvm::Function& function) : function_(function) {
    std::size_t before = SIZE_MAX;
    for (unsigned pass = 0; pass < most_passes && before != known(); ++pass) {
      before = known();
      for (const llvm::Instruction& instruction : llvm::instructions(function)) follow(instruction);
    }
  }

  // Whether the function stores one of its frame's addresses outside, and compares another with
  // what it read there.
  [[nodiscard]] bool remembers() const {
    bool stored = false;
    bool compared = false;
    for (const llvm::Instruction& instruction : llvm::instructions(function_)) {
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
        stored |= is_own(store->getValueOperand()) && !is_own(store->getPointerOperand());
      const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction);
      if (compare == nullptr || !compare->isEquality()) continue;
      const llvm::Value* a = compare->getOperand(0);
      const llvm::Value* b = compare->getOperand(1);
      compared |= (is_own(a) && outer_.contains(b)) || (is_own(b) && outer_.contains(a));
    }
    return stored && compared;
  }

 private:
  using Values = llvm::DenseSet<const llvm::Value*>;
  static constexpr unsigned most_passes = 16;

  [[nodiscard]] std::size_t known() const {
    return own_.size() + outer_.size() + own_kept_.size() + outer_kept_.size();
  }

  [[nodiscard]] bool is_own(const llvm::Value* value) const { return own_.contains(value); }

  static bool is_variable(const llvm::Value* place) {
    const auto* object = llvm::dyn_cast<llvm::AllocaInst>(place);
    return object != nullptr && (object->getAllocatedType()->isPointerTy() ||
                                 object->getAllocatedType()->isIntegerTy(64));
  }

  static bool passes_on(const llvm::Instruction& instruction) {
    return llvm::isa<llvm::CastInst, llvm::PHINode, llvm::SelectInst, llvm::FreezeInst,
                     llvm::BinaryOperator>(instruction);
  }

  void follow(const llvm::Instruction& instruction) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) own_.insert(&instruction);
    if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
      copy(address->getPointerOperand(), &instruction);
    if (passes_on(instruction))
      for (const llvm::Value* operand : instruction.operands()) copy(operand, &instruction);
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      if (is_own(load->getPointerOperand()))
        copy_kept(load->getPointerOperand(), load);
      else
        outer_.insert(load);
    }
    // Follows values through variables of the frame, which keep all values at -O0.
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        store != nullptr && is_variable(store->getPointerOperand())) {
      if (is_own(store->getValueOperand())) own_kept_.insert(store->getPointerOperand());
      if (outer_.contains(store->getValueOperand())) outer_kept_.insert(store->getPointerOperand());
    }
  }

  void copy(const llvm::Value* from, const llvm::Value* to) {
    if (own_.contains(from)) own_.insert(to);
    if (outer_.contains(from)) outer_.insert(to);
  }

  void copy_kept(const llvm::Value* from, const llvm::Value* to) {
    if (own_kept_.contains(from)) own_.insert(to);
    if (outer_kept_.contains(from)) outer_.insert(to);
  }

  const llvm::Function& function_;
  Values own_{};
  Values outer_{};
  Values own_kept_{};
  Values outer_kept_{};
};

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

bool remembers_its_place(const llvm::Function& function) {
  return Origins(function).remembers();
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

std::uint64_t frame_alignment(const llvm::Function& function) {
  constexpr std::uint64_t largest_vector = 64;
  std::uint64_t largest = 16;
  const auto count = [&](const llvm::Type& type) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(&type);
    if (vector == nullptr) return;
    const std::uint64_t bits =
        std::uint64_t{vector->getNumElements()} * vector->getElementType()->getScalarSizeInBits();
    largest = std::max(largest, std::min(bits / 8, largest_vector));
  };
  for (const llvm::Argument& argument : function.args()) count(*argument.getType());
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    count(*instruction.getType());
    if (const auto* object = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      largest = std::max<std::uint64_t>(largest, object->getAlign().value());
  }
  return largest;
}

void allow_larger_frame(llvm::Function& function, std::uint64_t bytes) {
  constexpr const char* attribute = "warn-stack-size";
  std::uint64_t limit = 0;
  if (!function.hasFnAttribute(attribute) ||
      function.getFnAttribute(attribute).getValueAsString().getAsInteger(10, limit))
    return;
  limit = std::min<std::uint64_t>(limit + bytes, UINT32_MAX);  // LLVM accepts no larger limit
  function.addFnAttr(attribute, std::to_string(limit));
}

bool is_real_call(const llvm::CallBase& call) {
  if (call.isInlineAsm() || llvm::isa<llvm::IntrinsicInst>(call)) return false;
  const auto* plain = llvm::dyn_cast<llvm::CallInst>(&call);
  return plain == nullptr || !ends_by(*plain);
}

}  // namespace stab::pass
