// SPDX-License-Identifier: MIT
// Finds jump tables and other places in data that lead into functions, and the registers that hold
// the addresses of jump tables.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "instrumenter/postlink/code/code.h"
#include "instrumenter/postlink/program/references.h"

namespace stab::instrumenter {
namespace {

using abi::FixupKind;
using abi::PinReason;

// Jump tables hold distances from their base, whose address the code takes with a `lea`. A copy of
// the function gets a copy of the table at a constant distance, so neither has to change again.
// Tables of addresses (computed goto, and jump tables of code for a fixed address) are rewritten
// once, so that they lead to stubs.
class DataAnalysis {
 public:
  explicit DataAnalysis(Program& program) : program_(program) {}

  void run() {
    collect_vtables();
    collect_exported();
    for (std::size_t i = 0; i < program_.file->sections().size(); ++i) read_section(i);
    std::erase_if(program_.pointers, [&](const Pointer& pointer) {
      return named_.contains(program_.functions[pointer.function].start);
    });
    collect_bases();
    for (Function& function : program_.functions) add_tables(function);
    pin_mixed_labels();
    std::ranges::sort(program_.slots, {}, &Slot::where);
    std::ranges::sort(program_.pointers, {}, &Pointer::where);
  }

 private:
  static bool of_interest(std::string_view name) {
    return name != ".eh_frame" && name != ".gcc_except_table" && !name.starts_with(".note") &&
           !name.starts_with(".gcc_except_table");
  }

  // Other sections (lists of places to patch, say) refer to the original code.
  static bool holds_pointers(std::string_view name) {
    return name.starts_with(".data") || name.starts_with(".rodata") || name.starts_with(".relro") ||
           name.starts_with(".ldata") || name.starts_with(".tm_clone");
  }

  void read_section(std::size_t index) {
    const Elf64_Shdr& section = program_.file->sections()[index];
    if ((section.sh_flags & SHF_ALLOC) == 0) return;
    if ((section.sh_flags & SHF_EXECINSTR) != 0) return read_code(index);
    const std::string_view name = program_.file->name(section);
    if (!of_interest(name) || is_unread_list(*program_.file, name)) return;
    for (const Relocation& relocation : program_.file->relocations(index)) {
      if (relocation.type == R_X86_64_PC32) {
        if (refers_to_code(relocation)) distances_.insert(relocation.where);
        if (!holds_pointers(name)) pin_at(target_of(relocation.where, relocation.where));
        named_.insert(relocation.target);
        continue;
      }
      Function* function = program_.find(relocation.target);
      look_at_other_use(relocation.target);
      if (function != nullptr && function->start == relocation.target) {
        if (relocation.type == R_X86_64_64)
          add_pointer(relocation.where, *function, section);
        else
          named_.insert(relocation.target);
      }
      if (function == nullptr || function->start == relocation.target || !function->movable())
        continue;
      if (relocation.type == R_X86_64_64 && holds_pointers(name) && relocation.where % 8 == 0 &&
          function->starts_instruction(relocation.target))
        add_slot(relocation.where, *function, relocation.target, section);
      else
        program_.pin(*function, PinReason::label_reference);
    }
  }

  // This is not a jump table but a list of other places, each as a distance from its own entry.
  void pin_at(std::uint64_t place) {
    if (Function* function = program_.find(place); function && function->start != place)
      program_.pin(*function, PinReason::label_reference);
  }

  // If the function does not jump to labels by their addresses, the program may compare this place
  // with other addresses, as a handler of faults does. It may compare the function's end, too.
  void look_at_other_use(std::uint64_t place) {
    Function* function = program_.find(place);
    if (function == nullptr) function = program_.find(place - 1);
    if (function != nullptr && function->start != place && !jumps_to_labels(*function))
      program_.pin(*function, PinReason::label_reference);
  }

  // Tables of distances to strings and the like often stand beside jump tables.
  [[nodiscard]] bool refers_to_code(const Relocation& relocation) const {
    if (relocation.symbol >= program_.file->symbols().size()) return false;
    const std::size_t section = program_.file->symbols()[relocation.symbol].st_shndx;
    return section < program_.file->sections().size() &&
           (program_.file->sections()[section].sh_flags & SHF_EXECINSTR) != 0;
  }

  // Whether the place is read-only while the program runs.
  [[nodiscard]] bool is_readonly(std::uint64_t where, const Elf64_Shdr& section) const {
    bool readonly = (section.sh_flags & SHF_WRITE) == 0;
    for (const Elf64_Phdr& segment : program_.file->segments())
      if (segment.p_type == PT_GNU_RELRO && where >= segment.p_vaddr &&
          where < segment.p_vaddr + segment.p_memsz)
        readonly = true;
    return readonly;
  }

  // Includes the vtables that a constructor uses while it builds a base class.
  void collect_vtables() {
    // Calls that the compiler checks (-fsanitize=kcfi) read a number before the function.
    if (program_.file->section(".kcfi_traps") != nullptr) return;
    for (const Elf64_Sym& symbol : program_.file->symbols()) {
      const std::string_view name = program_.file->name(symbol);
      if (symbol.st_size != 0 && (name.starts_with("_ZTV") || name.starts_with("_ZTC")))
        vtables_[symbol.st_value] = symbol.st_value + symbol.st_size;
    }
  }

  // Other images may look these places up by name, or have them in vtables of their own.
  void collect_exported() {
    for (const std::uint64_t place : program_.file->exported_places()) named_.insert(place);
  }

  // Everything but a call through the linker's table may take the address of a function.
  void read_code(std::size_t index) {
    constexpr std::uint64_t field = 4;  // a distance counts from the field's end
    for (const Relocation& relocation : program_.file->relocations(index)) {
      if (relocation.type == R_X86_64_PLT32) continue;
      named_.insert(relocation.target);
      named_.insert(relocation.target + field);
    }
  }

  // Programs compare pointers to functions, but pointers that stand only in vtables are only
  // called.
  void add_pointer(std::uint64_t where, const Function& function, const Elf64_Shdr& section) {
    const auto next = vtables_.upper_bound(where);
    if (next == vtables_.begin() || where >= std::prev(next)->second) {
      named_.insert(function.start);
      return;
    }
    if (where % 8 == 0 && is_readonly(where, section))
      program_.pointers.push_back({where, program_.index(function)});
  }

  void add_slot(std::uint64_t where, const Function& function, std::uint64_t target,
                const Elf64_Shdr& section) {
    const bool readonly = is_readonly(where, section);
    const std::uint32_t label =
        program_.label(function, static_cast<std::uint32_t>(target - function.start));
    program_.slots.push_back({where, label, readonly});
  }

  // The original code runs if its entry has no room for a jump. Its own labels are then places in
  // the original, but labels in data are places in the copy, and the program may subtract or
  // compare them.
  void pin_mixed_labels() {
    for (const Slot& slot : program_.slots) {
      Function& function = program_.functions[program_.labels[slot.label].function];
      const auto is_label = [](const abi::Fixup& fixup) {
        return abi::kind_of(fixup) == FixupKind::label;
      };
      if (function.keeps_entry && std::ranges::any_of(function.fixups, is_label))
        program_.pin(function, PinReason::label_reference);
    }
  }

  void collect_bases() {
    for (Function& function : program_.functions)
      for (const Operand& operand : function.decoded.operands)
        if (operand.use == Operand::Use::address && distances_.contains(operand.target))
          bases_.try_emplace(operand.target, program_.index(function));
  }

  [[nodiscard]] std::int32_t distance_at(std::uint64_t address) const {
    std::int32_t value = 0;
    const auto bytes = program_.file->at(address, sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  [[nodiscard]] std::uint64_t target_of(std::uint64_t base, std::uint64_t entry) const {
    return base + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance_at(entry)));
  }

  // Another table's base ends this table, unless the entry there does not lead into that base's
  // function.
  [[nodiscard]] bool next_table_begins(std::uint64_t entry) const {
    const auto base = bases_.find(entry);
    if (base == bases_.end()) return false;
    return program_.functions[base->second].starts_instruction(target_of(entry, entry));
  }

  // Entries that are never taken lead to the end of the function.
  [[nodiscard]] bool is_unreachable(const Function& function, std::uint64_t target) const {
    return target == function.end() && program_.find(target) == nullptr;
  }

  enum class Shape : std::uint8_t { table, something_else, unclear };

  // A table may also lead into the function's cold part, which is a function of its own: its first
  // entry, too. `entered` gets the functions into which entries lead behind their beginning, and
  // the cold parts.
  Shape read_table(const Function& function, std::uint64_t base,
                   std::vector<std::uint32_t>& offsets, std::vector<Function*>& entered) const {
    bool leads_out = false;
    for (std::uint64_t entry = base; distances_.contains(entry); entry += 4) {
      if (entry != base && next_table_begins(entry)) break;
      const std::uint64_t target = target_of(base, entry);
      if (function.starts_instruction(target) || is_unreachable(function, target)) {
        offsets.push_back(static_cast<std::uint32_t>(target - function.start));
        continue;
      }
      if (entry != base && bases_.contains(entry)) break;
      leads_out = true;
      Function* other = program_.find(target);
      if (other == nullptr) break;
      if (other->start != target || is_cold_part(other->name)) entered.push_back(other);
    }
    if (!leads_out) return Shape::table;
    return offsets.empty() ? Shape::something_else : Shape::unclear;
  }

  void add_tables(Function& function) {
    std::unordered_map<std::uint64_t, std::uint32_t> placed;  // base -> offset in the copy
    for (const Operand& operand : function.decoded.operands) {
      if (operand.use != Operand::Use::address || !distances_.contains(operand.target)) continue;
      auto place = placed.find(operand.target);
      if (place == placed.end()) {
        std::vector<std::uint32_t> offsets;
        std::vector<Function*> entered;
        const Shape shape = read_table(function, operand.target, offsets, entered);
        for (Function* other : entered)
          if (shape != Shape::table) program_.pin(*other, PinReason::label_reference);
        if (shape == Shape::unclear && function.movable())
          program_.pin(function, PinReason::label_reference);
        if (shape == Shape::something_else || !function.movable()) continue;
        place = placed.emplace(operand.target, append_table(function, offsets)).first;
      }
      point_at_copy(function, operand, place->second);
    }
  }

  static std::uint32_t append_table(Function& function, const std::vector<std::uint32_t>& offsets) {
    const auto place =
        static_cast<std::uint32_t>(abi::tables_offset(function.size) + 4 * function.words.size());
    for (const std::uint32_t offset : offsets) {
      function.words.push_back(offset - place);
      if (offset < function.size) function.table_targets.push_back(offset);
    }
    return place;
  }

  static void point_at_copy(Function& function, const Operand& operand, std::uint32_t place) {
    const auto fixup =
        std::ranges::lower_bound(function.fixups, operand.offset, {}, abi::offset_of);
    if (fixup != function.fixups.end() && abi::offset_of(*fixup) == operand.offset) {
      fixup->kind_and_offset =
          static_cast<std::uint32_t>(FixupKind::constant) << abi::fixup_kind_shift | operand.offset;
      fixup->value = place - (operand.offset + 4);
    }
  }

  Program& program_;
  std::map<std::uint64_t, std::uint64_t> vtables_;  // start -> end
  std::unordered_set<std::uint64_t> named_;         // places whose address others may compare
  std::unordered_set<std::uint64_t> distances_;     // places of 32-bit distances in data
  std::unordered_map<std::uint64_t, std::uint32_t> bases_;  // place -> function whose code takes it
};

}  // namespace

void analyse_data(Program& program) {
  DataAnalysis(program).run();
}

namespace {

// The ABI uses DWARF's register numbers. Among the preserved registers, only rbp has another
// number in the decoder.
std::uint32_t registers_of(const DecodedFunction& decoded) {
  constexpr unsigned rbp_of_dwarf = 6;
  if (!decoded.complete) return 0;
  const std::uint32_t rbp = decoded.values >> rbp_number & 1U;
  const std::uint32_t values = (decoded.values & ~(1U << rbp_of_dwarf)) | rbp << rbp_of_dwarf;
  return abi::preserved_registers & ~values;
}

// Hot and cold parts are separate functions here, but they work on the same registers.
bool joins(const Function& from, const Operand& operand, const Function& to) {
  return operand.is_branch() && &from != &to && operand.target != to.start;
}

}  // namespace

void find_address_registers(Program& program) {
  for (Function& function : program.functions)
    function.address_registers = registers_of(function.decoded);
  for (const Function& function : program.unsized)
    for (const Operand& operand : function.decoded.operands)
      if (Function* to = program.find(operand.target);
          to != nullptr && joins(function, operand, *to))
        to->address_registers &= registers_of(function.decoded);
  for (bool changed = true; changed;) {
    changed = false;
    for (Function& function : program.functions) {
      for (const Operand& operand : function.decoded.operands) {
        Function* to = program.find(operand.target);
        if (to == nullptr || !joins(function, operand, *to)) continue;
        const std::uint32_t both = function.address_registers & to->address_registers;
        changed |= both != function.address_registers || both != to->address_registers;
        function.address_registers = to->address_registers = both;
      }
    }
  }
}

}  // namespace stab::instrumenter
