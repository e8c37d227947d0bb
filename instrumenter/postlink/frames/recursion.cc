// SPDX-License-Identifier: MIT
// Finds the functions that may be on the stack many times, for which it has to know where calls by
// pointers may lead. The pass has noted the types (instrumenter/pass/notes.h), and the linked file
// shows which functions have their address taken.
#include <algorithm>
#include <unordered_map>

#include "instrumenter/postlink/elf/elf_file.h"
#include "instrumenter/postlink/frames/frames.h"

namespace stab::instrumenter {
namespace {

void take(Program& program, std::uint64_t target) {
  Function* function = program.find(target);
  if (function != nullptr && function->start == target) function->address_taken = true;
}

bool is_absolute(std::uint32_t type) {
  return type == R_X86_64_64 || type == R_X86_64_32 || type == R_X86_64_32S;
}

// A call through the GOT counts too, because one edge too many does no harm.
void find_taken_addresses(Program& program) {
  for (const Function& function : program.functions)
    for (const Operand& operand : function.decoded.operands)
      if (!operand.is_branch()) take(program, operand.target);
  for (std::size_t i = 0; i < program.file->sections().size(); ++i) {
    if ((program.file->sections()[i].sh_flags & SHF_ALLOC) == 0) continue;
    for (const Relocation& relocation : program.file->relocations(i)) {
      if (is_absolute(relocation.type)) take(program, relocation.target);
      if (goes_through_got(relocation.type)) take(program, relocation.target + 4);
    }
  }
}

void read_types(Program& program, std::span<const std::uint8_t> records) {
  ByteReader reader(records);
  while (!reader.at_end()) {
    Function* function = program.find(reader.number<std::uint64_t>());
    const std::uint32_t own = reader.word();
    const auto count = reader.number<std::uint16_t>();
    if (function != nullptr) {
      function->is_typed = true;
      function->type = own;
    }
    for (unsigned i = 0; i < count && reader.ok(); ++i) {
      const std::uint32_t called = reader.word();
      if (function != nullptr) function->called_types.push_back(called);
    }
  }
}

}  // namespace

void read_call_types(Program& program) {
  if (const Elf64_Shdr* section = program.file->section(abi::calls_section))
    read_types(program, program.file->contents(*section));
  find_taken_addresses(program);
}

namespace {

// Tarjan's strongly connected components (SIAM Journal on Computing 1, 1972), without recursion.
class Components {
 public:
  Components(const Program& program, CallsByPointer calls)
      : functions_(program.functions.size()), callees_(functions_) {
    for (std::size_t f = 0; f < functions_; ++f) {
      const Function& function = program.functions[f];
      for (const abi::Fixup& fixup : function.fixups)
        if (abi::kind_of(fixup) == abi::FixupKind::branch) callees_[f].push_back(fixup.value);
      callees_[f].insert(callees_[f].end(), function.callees_by_name.begin(),
                         function.callees_by_name.end());
      for (const Operand& operand : function.decoded.operands)
        if (operand.is_branch() && operand.target == function.start)
          callees_[f].push_back(static_cast<std::uint32_t>(f));
      for (const std::uint32_t type : function.called_types) {
        const std::uint32_t node = node_of(type);
        callees_[f].push_back(node);
      }
      if (function.address_taken && function.type != 0)
        callees_[node_of(function.type)].push_back(static_cast<std::uint32_t>(f));
    }
    if (calls == CallsByPointer::all) add_unknown_calls(program);
    numbers_.resize(callees_.size(), 0);
    lowest_.resize(callees_.size(), 0);
    on_stack_.resize(callees_.size(), false);
    result_.resize(callees_.size(), false);
  }

  std::vector<bool> run() {
    for (std::uint32_t f = 0; f < callees_.size(); ++f)
      if (numbers_[f] == 0) visit(f);
    result_.resize(functions_);
    return std::move(result_);
  }

 private:
  struct Place {
    std::uint32_t function;
    std::size_t next;
  };

  // Returns the node through which all calls by pointers of this type go.
  std::uint32_t node_of(std::uint32_t type) {
    const auto [place, is_new] =
        types_.try_emplace(type, static_cast<std::uint32_t>(callees_.size()));
    if (is_new) callees_.emplace_back();
    return place->second;
  }

  void add_unknown_calls(const Program& program) {
    const auto any = static_cast<std::uint32_t>(callees_.size());
    const std::uint32_t untyped = any + 1;
    callees_.resize(callees_.size() + 2);
    for (const auto& [type, node] : types_) callees_[node].push_back(untyped);
    for (std::uint32_t f = 0; f < functions_; ++f) {
      const Function& function = program.functions[f];
      const bool leads = function.decoded.calls_anywhere || function.decoded.jumps_anywhere;
      if (leads && !function.is_typed) callees_[f].push_back(any);
      if (!function.address_taken) continue;
      callees_[any].push_back(f);
      if (function.type == 0) callees_[untyped].push_back(f);
    }
  }

  void enter(std::uint32_t f) {
    numbers_[f] = lowest_[f] = ++last_;
    stack_.push_back(f);
    on_stack_[f] = true;
    path_.push_back({f, 0});
  }

  void visit(std::uint32_t root) {
    enter(root);
    while (!path_.empty()) {
      Place& place = path_.back();
      const std::uint32_t f = place.function;
      if (place.next == callees_[f].size()) {
        path_.pop_back();
        if (!path_.empty()) take_lowest(path_.back().function, lowest_[f]);
        if (lowest_[f] == numbers_[f]) close(f);
        continue;
      }
      const std::uint32_t callee = callees_[f][place.next++];
      if (numbers_[callee] == 0)
        enter(callee);
      else if (on_stack_[callee])
        take_lowest(f, numbers_[callee]);
    }
  }

  void take_lowest(std::uint32_t f, std::uint32_t number) {
    lowest_[f] = std::min(lowest_[f], number);
  }

  void close(std::uint32_t root) {
    const bool alone = stack_.back() == root;
    const bool calls_itself = std::ranges::find(callees_[root], root) != callees_[root].end();
    for (std::uint32_t f = root + 1; f != root; stack_.pop_back()) {
      f = stack_.back();
      on_stack_[f] = false;
      result_[f] = !alone || calls_itself;
    }
  }

  std::size_t functions_;
  std::unordered_map<std::uint32_t, std::uint32_t> types_;
  std::vector<std::vector<std::uint32_t>> callees_;  // by node: functions, then types
  std::vector<std::uint32_t> numbers_;               // 0: not visited
  std::vector<std::uint32_t> lowest_;
  std::vector<bool> on_stack_;
  std::vector<bool> result_;
  std::vector<std::uint32_t> stack_;
  std::vector<Place> path_;
  std::uint32_t last_ = 0;
};

}  // namespace

std::vector<bool> recursive_functions(const Program& program, CallsByPointer calls) {
  return Components(program, calls).run();
}

}  // namespace stab::instrumenter
