// SPDX-License-Identifier: MIT
// Finds the functions, and the code between functions, that switch stacks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>

#include "instrumenter/postlink/code/code.h"
#include "instrumenter/postlink/decode/stack_switches.h"
#include "instrumenter/postlink/elf/elf_file.h"

namespace stab::instrumenter {
namespace {

using abi::HideReason;

// An unwinder only goes back to a frame that exists, as it found it.
bool unwinds(std::string_view name) {
  constexpr std::array<std::string_view, 5> names = {
      "_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_ForcedUnwind",
      "_Unwind_Resume_or_Rethrow", "__libunwind_Registers_x86_64_jumpto"};
  return std::ranges::find(names, name) != names.end();
}

class SwitchAnalysis {
 public:
  explicit SwitchAnalysis(Program& program) : program_(program) {}

  void run() {
    read_compiled();
    read_relocations();
    std::map<std::uint32_t, std::vector<std::size_t>> groups;
    const std::vector<std::uint32_t> first = groups_by_jumps(program_);
    for (std::size_t i = 0; i < first.size(); ++i) groups[first[i]].push_back(i);
    for (const auto& [_, members] : groups) check(members);
    for (const Gap& gap : code_without_function(program_)) check_gap(gap.start, gap.code);
  }

 private:
  // The pass lists the functions with frames of variable size in which only the compiler uses the
  // stack pointer.
  void read_compiled() {
    compiled_.resize(program_.functions.size());
    const Elf64_Shdr* section = program_.file->section(abi::compiled_section);
    if (section == nullptr) return;
    ByteReader reader(program_.file->contents(*section));
    while (!reader.at_end())
      if (const Function* function = program_.find(reader.number<std::uint64_t>()))
        compiled_[program_.index(*function)] = true;
  }

  // Collects the targets of relocations in code. A distance counts from the end of its field.
  void read_relocations() {
    constexpr std::uint64_t field = 4;
    for (std::size_t i = 0; i < program_.file->sections().size(); ++i) {
      if ((program_.file->sections()[i].sh_flags & SHF_EXECINSTR) == 0) continue;
      for (const Relocation& relocation : program_.file->relocations(i))
        targets_.insert(relocation.target + field);
    }
  }

  // Whether the function never returns to its caller: it contains neither a return nor a jump that
  // could be one, and each way out of it leads to a function that never returns. A function that
  // calls itself on the way counts as returning.
  bool never_returns(const Function& function) {
    const auto [known, added] = ends_.try_emplace(function.start, false);
    if (added) ends_[function.start] = holds_no_return(function);
    return ends_[function.start];
  }

  bool holds_no_return(const Function& function) {
    using Does = Instruction::Does;
    if (!function.decoded.complete || function.decoded.open_end) return false;
    const auto code = read_instructions(function.code, function.start);
    for (const Instruction& next : code) {
      const bool leads = next.does == Does::jump || next.does == Does::branch;
      if (next.does == Does::ret || next.does == Does::jump_anywhere) return false;
      if (leads && !function.contains(next.target) && !ends_at(next.target)) return false;
    }
    if (code.empty()) return false;
    const Instruction& last = code.back();
    return last.does == Does::end || last.does == Does::jump ||
           (last.does == Does::call &&
            (ends_at(last.target) ||
             std::ranges::find(function.behind_ends, function.size) != function.behind_ends.end()));
  }

  bool ends_at(std::uint64_t target) {
    const Function* callee = program_.find(target);
    return callee != nullptr && callee->start == target && never_returns(*callee);
  }

  // Adds the places behind calls of the program's own functions that never return.
  void add_behind_own_ends(const Function& function, std::vector<std::uint32_t>& behind) {
    for (const Operand& operand : function.decoded.operands)
      if (operand.use == Operand::Use::call && !function.contains(operand.target) &&
          ends_at(operand.target))
        behind.push_back(operand.offset + operand.size);
  }

  // Compilers leave jumps to the function's end in blocks that are never reached. If a relocation
  // leads there, or code begins there, the jump is a real one.
  [[nodiscard]] bool ends_in_nothing(const Function& function) const {
    return program_.find(function.end()) == nullptr &&
           program_.find_code(function.end()) == nullptr && !targets_.contains(function.end());
  }

  [[nodiscard]] CodePart part_of(const Function& function) {
    CodePart part{function.start, function.code,          !is_cold_part(function.name),
                  false,          function.table_targets, {}};
    const auto& sites = function.exceptions.call_sites;
    part.landings_known = function.frame.lsda == 0 || (function.movable() && !sites.empty());
    part.behind_ends = function.behind_ends;
    add_behind_own_ends(function, part.behind_ends);
    part.ends_in_nothing = ends_in_nothing(function);
    for (const CallSite& site : sites)
      if (site.label)
        part.landings.push_back(
            {site.start, site.start + site.length, program_.labels[*site.label].offset});
    for (std::uint32_t i = 0; i < program_.labels.size(); ++i) {
      if (program_.labels[i].function != program_.index(function)) continue;
      const bool lands =
          std::ranges::any_of(sites, [i](const CallSite& s) { return s.label == i; });
      if (!lands) part.jump_targets.push_back(program_.labels[i].offset);
    }
    return part;
  }

  void check(const std::vector<std::size_t>& members) {
    const auto any = [&](auto&& holds) { return std::ranges::any_of(members, holds); };
    const auto hidden = std::ranges::find_if(members, [&](std::size_t i) {
      return program_.functions[i].decoded.may_set_stack_pointer;
    });
    if (hidden != members.end())
      return add(program_.functions[*hidden].start, std::string(program_.functions[*hidden].name));
    if (!any([&](std::size_t i) { return program_.functions[i].decoded.sets_stack_pointer; }))
      return;
    if (any([&](std::size_t i) { return unwinds(program_.functions[i].name); })) return;
    std::vector<CodePart> parts;
    for (const std::size_t i : members) parts.push_back(part_of(program_.functions[i]));
    const bool compiled = std::ranges::all_of(members, [&](std::size_t i) { return compiled_[i]; });
    const auto place = find_switch(parts, compiled);
    if (!place) return;
    const Function* function = program_.find(*place);
    add(*place, function == nullptr ? std::string() : std::string(function->name));
  }

  void check_gap(std::uint64_t address, std::span<const std::uint8_t> code) {
    if (!decode_function(code, address).sets_stack_pointer) return;
    const CodePart part{address, code, true, true, {}};
    if (const auto place = find_switch({&part, 1}, false)) add(*place, name_before(*place));
  }

  // Returns the label that the code at `address`, which has no size, belongs to.
  [[nodiscard]] std::string name_before(std::uint64_t address) const {
    const Elf64_Sym* best = nullptr;
    for (const Elf64_Sym& symbol : program_.file->symbols()) {
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || type == STT_SECTION ||
          type == STT_FILE || type == STT_TLS || symbol.st_value > address)
        continue;
      if (best == nullptr || symbol.st_value > best->st_value) best = &symbol;
    }
    return best == nullptr ? fmt::format("{:#x}", address)
                           : std::string(program_.file->name(*best));
  }

  void add(std::uint64_t place, std::string name) {
    program_.hiders.push_back({place, std::move(name), HideReason::switches_stacks});
    // Stacks that a program switches to by hand are often small.
    program_.small_stacks = true;
  }

  Program& program_;
  std::vector<bool> compiled_;
  std::map<std::uint64_t, bool> ends_;  // start of a function -> whether it never returns
  std::unordered_set<std::uint64_t> targets_;
};

}  // namespace

void analyse_switches(Program& program) {
  SwitchAnalysis(program).run();
}

}  // namespace stab::instrumenter
