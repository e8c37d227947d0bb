// SPDX-License-Identifier: MIT
#include "instrumenter/pass/notes.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Mangler.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "instrumenter/pass/frame_facts.h"
#include "instrumenter/pass/llvm_versions.h"

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
  std::string text = "7744:\n\t.pushsection .szc_calls,\"?\",@progbits\n\t.quad 7744b\n\t.long " +
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

namespace {

constexpr const char* compiled_record =
    "7745:\n\t.pushsection .szc_compiled,\"?\",@progbits\n\t.quad 7745b\n\t.popsection";

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

namespace {

std::string symbol_of(const llvm::Function& function) {
  llvm::Mangler mangler;
  llvm::SmallString<64> name;
  mangler.getNameWithPrefix(name, &function, false);
  return std::string(name.str());
}

}  // namespace

std::vector<const llvm::Function*> find_left_alone(const llvm::Module& module, bool all) {
  std::vector<const llvm::Function*> found;
  for (const llvm::Function& function : module)
    if (!function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
        (all || is_left_alone(function) || has_special_frame(function) ||
         remembers_its_place(function)))
      found.push_back(&function);
  return found;
}

// The assembly belongs to the module, so the code of its functions stays the same.
void note_left_alone(llvm::Module& module, const std::vector<const llvm::Function*>& functions) {
  if (functions.empty()) return;
  std::string text = ".pushsection .szc_alone,\"\",@progbits";
  for (const llvm::Function* function : functions)
    text += "\n\t.quad \"" + symbol_of(*function) + '"';
  module.appendModuleInlineAsm(text + "\n\t.popsection\n");
}

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

  // `name` is the function itself or an alias of it.
  void run(const llvm::GlobalValue& name) { follow(name); }

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

// In the assembly of a function, `$` begins an operand.
std::string bytes_record(const std::set<llvm::Function*>& used) {
  std::string text = ".pushsection .szc_bytes,\"?\",@progbits";
  for (const llvm::Function* function : used) {
    text += "\n\t.quad \"";
    for (const char c : symbol_of(*function))
      text += c == '$' ? std::string("$$") : std::string(1, c);
    text += '"';
  }
  return text + "\n\t.quad 0\n\t.popsection";
}

}  // namespace

void note_used_bytes(llvm::Module& module) {
  Uses uses;
  for (llvm::Function& function : module)
    if (!function.isIntrinsic()) Search(function, uses).run(function);
  for (llvm::GlobalAlias& alias : module.aliases())
    if (auto* function = llvm::dyn_cast_or_null<llvm::Function>(alias.getAliaseeObject()))
      Search(*function, uses).run(alias);
  for (const auto& [user, used] : uses) {
    if (user->isDeclaration() || user->hasAvailableExternallyLinkage()) continue;
    llvm::IRBuilder<> begin(&*user->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    auto* shape = llvm::FunctionType::get(begin.getVoidTy(), false);
    begin.CreateCall(llvm::InlineAsm::get(shape, bytes_record(used), "", true))->setDoesNotThrow();
  }
}

}  // namespace stab::pass
