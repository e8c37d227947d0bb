// SPDX-License-Identifier: MIT
// Pins functions because of references to them: to labels inside them, to their bytes, and from
// functions that are pinned themselves.
#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_set>

#include "instrumenter/postlink/code/code.h"
#include "instrumenter/postlink/decode/address_uses.h"
#include "instrumenter/postlink/elf/elf_file.h"
#include "instrumenter/postlink/program/references.h"

namespace stab::instrumenter {
namespace {

// Pins functions that contain named labels whose address is used. Compilers make no such labels,
// so a handler may compare the place of a fault with the label, or the program copies the code up
// to it, and the function must run where it was linked. The same is true of functions whose bytes
// or range the program uses: the pass's records, a section's bounds or another compiler's code
// show that.
class LabelAnalysis {
 public:
  explicit LabelAnalysis(Program& program) : program_(program) {
    std::iota(next_.begin(), next_.end(), std::size_t{0});
  }

  void run() {
    for (const Elf64_Sym& symbol : program_.file->symbols())
      if (is_label(symbol)) labels_.insert(symbol.st_value);
    for (std::size_t i = 0; i < program_.file->sections().size(); ++i) {
      const Elf64_Shdr& section = program_.file->sections()[i];
      const std::string_view name = program_.file->name(section);
      if ((section.sh_flags & SHF_ALLOC) == 0 || name == ".eh_frame" ||
          is_unread_list(*program_.file, name))
        continue;
      const std::vector<Relocation> relocations = program_.file->relocations(i);
      if (name == patchable_entries) pin_patchable(relocations);
      const bool is_ours = name == abi::runtime_section || name == abi::library_section;
      for (const Relocation& relocation : relocations) {
        look_at(relocation);
        look_at_bounds(relocation);
        if (!is_ours) note_code_bounds(relocation);
        look_behind_start(relocation);
      }
      if ((section.sh_flags & SHF_EXECINSTR) != 0) look_at_uses(i, relocations);
    }
    for (const Function& function : program_.functions) look_at(function);
    for (const Function& function : program_.unsized) look_at(function);
    read_used_bytes();
    // Another image that looks up a name may use its address.
    for (const std::uint64_t place : program_.file->exported_places())
      if (Function* function = program_.find(place);
          function != nullptr && function->start != place)
        pin(*function);
  }

 private:
  [[nodiscard]] bool is_label(const Elf64_Sym& symbol) const {
    const auto sections = program_.file->sections();
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections.size() ||
        (sections[symbol.st_shndx].sh_flags & SHF_EXECINSTR) == 0 ||
        program_.file->name(symbol).empty())
      return false;
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_NOTYPE || type == STT_OBJECT) return true;
    const Function* function = program_.find(symbol.st_value);
    return is_function(symbol) && function != nullptr && function->start != symbol.st_value;
  }

  static bool is_function(const Elf64_Sym& symbol) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    return type == STT_FUNC || type == STT_GNU_IFUNC;
  }

  void look_at(const Relocation& relocation) {
    constexpr std::uint64_t field = 4;  // a distance counts from the field's end
    if (relocation.symbol >= program_.file->symbols().size() || is_branch(relocation.where)) return;
    const Elf64_Sym& symbol = program_.file->symbols()[relocation.symbol];
    const bool begins = is_function(symbol);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_SECTION) look_at(symbol.st_value, begins);
    look_at(relocation.target, begins);
    look_at(relocation.target + field, begins);
  }

  // References within a section need not have relocations.
  void look_at(const Function& function) {
    for (const Operand& operand : function.decoded.operands)
      if (operand.use == Operand::Use::address && !function.contains(operand.target))
        look_at(operand.target, true);
  }

  // `begins`: if `place` is the start of a function, the reference means that function.
  void look_at(std::uint64_t place, bool begins) {
    if (!labels_.contains(place)) return;
    Function* function = program_.find(place);
    if (function != nullptr && begins && function->start == place) return;
    if (function != nullptr) pin(*function);
    pin_before(place);
  }

  // The label may mark the end of the function before it, with the padding there.
  void pin_before(std::uint64_t place) {
    auto after = std::ranges::lower_bound(program_.functions, place, {}, &Function::start);
    if (after == program_.functions.begin()) return;
    --after;
    if (place >= after->end() && place - after->end() < abi::code_align) pin(*after);
  }

  // The linker defines the bounds of a section. A program that uses those of a section with code
  // may copy the code, or ask what lies there.
  void look_at_bounds(const Relocation& relocation) {
    constexpr std::string_view start = "__start_";
    if (relocation.symbol >= program_.file->symbols().size()) return;
    const std::string_view name = program_.file->name(program_.file->symbols()[relocation.symbol]);
    if (!name.starts_with(start)) return;
    const Elf64_Shdr* section = program_.file->section(name.substr(start.size()));
    if (section == nullptr || (section->sh_flags & SHF_EXECINSTR) == 0) return;
    pin_between(section->sh_addr, section->sh_addr + section->sh_size - 1);
  }

  // The linker defines the bounds of the whole code, too. Nothing tells what a program does with
  // them, so its functions move, but the user is told. compiler-rt only looks for its notes there.
  // A program may have a variable or function with such a name, which is no bound; the linker's
  // symbols have no type.
  void note_code_bounds(const Relocation& relocation) {
    constexpr std::array<std::string_view, 5> names = {"__executable_start", "__ehdr_start",
                                                       "etext", "_etext", "__etext"};
    const auto symbols = program_.file->symbols();
    if (relocation.symbol >= symbols.size() ||
        ELF64_ST_TYPE(symbols[relocation.symbol].st_info) != STT_NOTYPE)
      return;
    const std::string_view name = program_.file->name(symbols[relocation.symbol]);
    if (std::ranges::find(names, name) == names.end() ||
        std::ranges::find(program_.code_bounds, name) != program_.code_bounds.end())
      return;
    const Function* user = program_.find(relocation.where);
    if (user == nullptr || !user->name.starts_with("__llvm_"))
      program_.code_bounds.emplace_back(name);
  }

  // The program asks for the list of places to patch, which are at or before functions' starts.
  void pin_patchable(const std::vector<Relocation>& relocations) {
    for (const Relocation& relocation : relocations) {
      const auto behind =
          std::ranges::lower_bound(program_.functions, relocation.target, {}, &Function::start);
      if (behind != program_.functions.end()) program_.pin(*behind, abi::PinReason::used_bytes);
      if (Function* function = program_.find(relocation.target))
        program_.pin(*function, abi::PinReason::used_bytes);
    }
  }

  // Reads the pass's records (pass/notes.h).
  void read_used_bytes() {
    const Elf64_Shdr* section = program_.file->section(abi::bytes_section);
    if (section == nullptr) return;
    ByteReader reader(program_.file->contents(*section));
    std::uint64_t first = UINT64_MAX;
    std::uint64_t last = 0;
    while (!reader.at_end()) {
      const auto place = reader.number<std::uint64_t>();
      if (place != 0) {
        first = std::min(first, place);
        last = std::max(last, place);
        continue;
      }
      if (first <= last) pin_between(first, last);
      first = UINT64_MAX;
      last = 0;
    }
  }

  // Looks at a place that is given as a function plus a distance from its start, such as its end.
  void look_behind_start(const Relocation& relocation) {
    const auto symbols = program_.file->symbols();
    if (relocation.symbol >= symbols.size() || !is_function(symbols[relocation.symbol])) return;
    const Elf64_Sym& symbol = symbols[relocation.symbol];
    std::uint64_t place = relocation.target;
    if (relocation.type != R_X86_64_64 && relocation.type != R_X86_64_32 &&
        relocation.type != R_X86_64_32S) {
      const Function* user = program_.find(relocation.where);
      const Operand* operand = user == nullptr ? nullptr : operand_at(*user, relocation.where);
      if (operand == nullptr || operand->use != Operand::Use::address) return;
      if (relocation.type != R_X86_64_PC32 && relocation.type != R_X86_64_PLT32) return;
      place = operand->target;
    }
    Function* function = program_.find(symbol.st_value);
    if (function != nullptr && place != symbol.st_value && place > function->start)
      program_.pin(*function, abi::PinReason::used_bytes);
  }

  // Finds how this section's functions use the addresses of functions, whatever compiler made
  // them.
  void look_at_uses(std::size_t section, const std::vector<Relocation>& relocations) {
    const auto at = [](const Relocation& relocation) { return relocation.where; };
    for (const Function& user : program_.functions) {
      if (user.section != section) continue;
      AddressesTaken taken;
      const auto take = [&](std::uint64_t offset, std::uint64_t target) {
        const Function* function = program_.find(target);
        if (function != nullptr && function->start == target)
          taken.fields.emplace(static_cast<std::uint32_t>(offset), target);
      };
      for (const Operand& operand : user.decoded.operands)
        if (operand.use == Operand::Use::address) take(operand.offset, operand.target);
      const auto first = std::ranges::lower_bound(relocations, user.start, {}, at);
      const auto last = std::ranges::lower_bound(relocations, user.end(), {}, at);
      for (auto each = first; each != last; ++each)
        if (each->type == R_X86_64_64 || each->type == R_X86_64_32 || each->type == R_X86_64_32S)
          take(each->where - user.start, each->target);
        else if (goes_through_got(each->type))
          take(each->where - user.start, in_table(*each));
      if (taken.fields.empty()) continue;
      taken.works_on_bytes = [&](std::uint32_t field) {
        // A relaxed `jmp *x@GOTPCREL(%rip)` has its field one byte before the relocation.
        const std::uint64_t where = user.start + field;
        const auto found = std::ranges::lower_bound(first, last, where, {}, at);
        return found != last &&
               (found->where == where ||
                (found->where == where + 1 && found->type == R_X86_64_GOTPCRELX)) &&
               works_on_bytes(*found);
      };
      pin_uses(find_address_uses(user.code, user.start, taken));
    }
  }

  // Returns the address that the word of the linker's table holds.
  [[nodiscard]] std::uint64_t in_table(const Relocation& relocation) const {
    constexpr std::uint64_t field = 4;  // the addend counts from the field's end
    const auto symbols = program_.file->symbols();
    const bool named = relocation.symbol < symbols.size() &&
                       ELF64_ST_TYPE(symbols[relocation.symbol].st_info) != STT_SECTION;
    return named ? symbols[relocation.symbol].st_value : relocation.target + field;
  }

  // A program that asks for the distance or order of two places may mean everything between them.
  void pin_uses(const AddressUses& uses) {
    for (const std::uint64_t place : uses.bytes)
      if (Function* function = program_.find(place))
        program_.pin(*function, abi::PinReason::used_bytes);
    if (!uses.range.empty()) pin_between(*uses.range.begin(), *uses.range.rbegin());
  }

  [[nodiscard]] bool works_on_bytes(const Relocation& relocation) const {
    constexpr std::array<std::string_view, 14> names = {
        "memcpy",        "memmove", "mempcpy",       "memcmp",  "bcmp",
        "bcopy",         "memchr",  "write",         "fwrite",  "__memcpy_chk",
        "__memmove_chk", "memset",  "pkey_mprotect", "mprotect"};
    const auto symbols = program_.file->symbols();
    return relocation.symbol < symbols.size() &&
           std::ranges::find(names, program_.file->name(symbols[relocation.symbol])) != names.end();
  }

  // Many ranges may overlap, so each call skips the functions that earlier ranges have pinned.
  void pin_between(std::uint64_t first, std::uint64_t last) {
    std::vector<Function>& functions = program_.functions;
    const auto begin = std::ranges::upper_bound(functions, first, {}, &Function::end);
    for (std::size_t i = not_in_a_range(static_cast<std::size_t>(begin - functions.begin()));
         i < functions.size() && functions[i].start <= last; i = not_in_a_range(i + 1)) {
      program_.pin(functions[i], abi::PinReason::used_bytes);
      next_[i] = i + 1;
    }
  }

  // Returns the first function from `i` on that no range has pinned yet. It shortens the way there
  // by half for the next call.
  std::size_t not_in_a_range(std::size_t i) {
    while (next_[i] != i) {
      next_[i] = next_[next_[i]];
      i = next_[i];
    }
    return i;
  }

  // Whether the field there belongs to a jump or a call.
  [[nodiscard]] bool is_branch(std::uint64_t where) const {
    if (const Function* function = program_.find(where)) return branches_by(*function, where);
    const auto after = std::ranges::upper_bound(program_.unsized, where, {}, &Function::start);
    return after != program_.unsized.begin() && branches_by(*(after - 1), where);
  }

  static const Operand* operand_at(const Function& function, std::uint64_t where) {
    const auto& operands = function.decoded.operands;
    const auto operand = std::ranges::lower_bound(operands, where - function.start, {},
                                                  [](const Operand& o) { return o.offset; });
    return function.decoded.complete && operand != operands.end() &&
                   operand->offset == where - function.start
               ? &*operand
               : nullptr;
  }

  static bool branches_by(const Function& function, std::uint64_t where) {
    const Operand* operand = operand_at(function, where);
    return operand != nullptr && operand->is_branch();
  }

  void pin(Function& function) { program_.pin(function, abi::PinReason::label_reference); }

  Program& program_;
  std::unordered_set<std::uint64_t> labels_;
  // For each function and the end: itself, or if a range has pinned it, a later one.
  std::vector<std::size_t> next_ = std::vector<std::size_t>(program_.functions.size() + 1);
};

}  // namespace

void analyse_labels(Program& program) {
  LabelAnalysis(program).run();
}

namespace {

// Undecoded bytes may be data, in which a branch leads anywhere by chance.
bool may_lead(const Function& from, const Function& to, std::uint64_t target) {
  return from.decoded.complete || !to.contains(target) || !to.decoded.complete ||
         to.starts_instruction(target);
}

// Whether one of its own jumps leads to the bytes that a jump to the copy overwrites, other than the
// first.
bool jumps_near_its_start(const Function& function) {
  const auto is_near = [](std::uint32_t offset) { return offset > 0 && offset < abi::entry_bytes; };
  if (std::ranges::any_of(function.table_targets, is_near)) return true;
  return std::ranges::any_of(function.decoded.operands, [&](const Operand& operand) {
    return operand.is_branch() && operand.target > function.start &&
           operand.target < function.start + abi::entry_bytes;
  });
}

// Returns whether it pinned a function. The branches of a function that moves lead to copies,
// except for branches to code between functions. Where the original code may run, and it does if
// the function stays or keeps its entry, a branch behind another function's beginning makes that
// function's original code run, too, whose own jumps may lead to the bytes that are overwritten.
bool pin_those_entered_by(const Function& function, Program& program) {
  bool any = false;
  const bool original_runs = !function.movable() || function.keeps_entry;
  references_of(function, [&](const Reference& reference) {
    if (reference.kind != Reference::Kind::branch || function.contains(reference.first)) return;
    Function* entered = program.find(reference.first);
    if (!original_runs && entered != nullptr) return;
    const bool is_behind = entered != nullptr && entered->start != reference.first;
    Function* other = is_behind && jumps_near_its_start(*entered)
                          ? entered
                          : program.find_overwritten(reference.first);
    if (other == nullptr || !other->movable()) return;
    if (!may_lead(function, *other, reference.first)) return;
    program.pin(*other, abi::PinReason::label_reference);
    any = true;
  });
  return any;
}

}  // namespace

void pin_dependents(Program& program) {
  for (const Function& function : program.unsized) pin_those_entered_by(function, program);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Function& function : program.functions)
      changed |= pin_those_entered_by(function, program);
  }
  program.pins_are_final = true;
}

}  // namespace stab::instrumenter
