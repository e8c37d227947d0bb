// SPDX-License-Identifier: MIT
#include "instrumenter/pass/functions_as_bytes.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Mangler.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "instrumenter/pass/llvm_versions.h"

namespace stab::pass {
namespace {

// Whether the called function copies, compares or changes memory that it is given.
bool works_on_bytes(const llvm::CallBase& call) {
  static constexpr std::array<llvm::StringRef, 14> names = {
      "memcpy", "memmove", "mempcpy",      "memcmp",        "bcmp",   "bcopy",         "memchr",
      "write",  "fwrite",  "__memcpy_chk", "__memmove_chk", "memset", "pkey_mprotect", "mprotect"};
  if (llvm::isa<llvm::MemIntrinsic>(call)) return true;
  const llvm::Function* callee = call.getCalledFunction();
  return callee != nullptr && std::ranges::find(names, callee->getName()) != names.end();
}

// Whether the value is a number made from the address of data. Jump tables hold distances between
// functions and data.
bool is_data(const llvm::Value* value) {
  const auto* number = llvm::dyn_cast<llvm::Operator>(value);
  return number != nullptr && makes_number(number->getOpcode()) &&
         llvm::isa<llvm::GlobalVariable>(number->getOperand(0)->stripPointerCasts());
}

// A mask that clears 6 low bits or more may compute a page; other masks only look at a tag.
bool masks_page(const llvm::User& user) {
  return std::ranges::any_of(user.operands(), [](const llvm::Use& use) {
    const auto* mask = llvm::dyn_cast<llvm::ConstantInt>(use);
    return mask != nullptr && mask->getValue().isNegative() && low_zeros(mask->getValue()) >= 6;
  });
}

// Maps a function to the functions whose bytes or range it uses.
using Uses = std::map<llvm::Function*, std::set<llvm::Function*>>;

class Search {
 public:
  Search(llvm::Function& function, Uses& uses) : function_(function), uses_(uses) {}

  void run() { follow(function_); }

 private:
  void follow(const llvm::Value& value) {
    for (const llvm::Use& use : value.uses()) look_at(use);
  }

  void look_at(const llvm::Use& use) {
    auto* user = use.getUser();
    const auto operation = llvm::Operator::getOpcode(user);
    if (makes_number(operation)) return follow(*user);
    switch (operation) {
      case llvm::Instruction::BitCast:
      case llvm::Instruction::Freeze:
        return follow(*user);
      case llvm::Instruction::Sub:
        if (std::ranges::none_of(user->operands(), is_data)) note(*user);
        return;
      case llvm::Instruction::Add:
      case llvm::Instruction::GetElementPtr:
      case llvm::Instruction::Load:
        return note(*user);
      case llvm::Instruction::And:
        if (masks_page(*user)) note(*user);
        return;
      case llvm::Instruction::ICmp:
        if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(user);
            compare == nullptr || compare->isRelational())
          note(*user);
        return;
      case llvm::Instruction::Store:
        if (use.getOperandNo() == 1) note(*user);
        return;
      case llvm::Instruction::Call:
      case llvm::Instruction::Invoke:
        if (auto* call = llvm::cast<llvm::CallBase>(user);
            call->isArgOperand(&use) && works_on_bytes(*call))
          note(*user);
        return;
      default:
        return;
    }
  }

  // A constant expression is part of each instruction that uses it.
  void note(llvm::User& user) {
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(&user)) {
      uses_[instruction->getFunction()].insert(&function_);
      return;
    }
    for (llvm::User* further : user.users())
      if (llvm::isa<llvm::Instruction, llvm::ConstantExpr>(further)) note(*further);
  }

  llvm::Function& function_;
  Uses& uses_;
};

std::string bytes_record(const std::set<llvm::Function*>& used) {
  std::string text = ".pushsection .stab_bytes,\"?\",@progbits";
  llvm::Mangler mangler;
  for (const llvm::Function* function : used) {
    llvm::SmallString<64> name;
    mangler.getNameWithPrefix(name, function, false);
    text += "\n\t.quad \"";
    for (const char c : name) text += c == '$' ? std::string("$$") : std::string(1, c);
    text += '"';
  }
  return text + "\n\t.quad 0\n\t.popsection";
}

}  // namespace

void note_used_bytes(llvm::Module& module) {
  Uses uses;
  for (llvm::Function& function : module)
    if (!function.isIntrinsic()) Search(function, uses).run();
  for (const auto& [user, used] : uses) {
    if (user->isDeclaration() || user->hasAvailableExternallyLinkage()) continue;
    llvm::IRBuilder<> begin(&*user->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    auto* shape = llvm::FunctionType::get(begin.getVoidTy(), false);
    begin.CreateCall(llvm::InlineAsm::get(shape, bytes_record(used), "", true))->setDoesNotThrow();
  }
}

}  // namespace stab::pass
