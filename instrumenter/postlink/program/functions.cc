// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {
namespace {

using abi::HideReason;
using abi::PinReason;

constexpr std::uint64_t page = 4096;

bool holds_functions(const ElfFile& file, const Elf64_Shdr& section) {
  if ((section.sh_flags & SHF_EXECINSTR) == 0 || (section.sh_flags & SHF_ALLOC) == 0) return false;
  const std::string_view name = file.name(section);
  return section.sh_type == SHT_PROGBITS && !name.starts_with(".plt") && name != ".iplt" &&
         name != ".init" && name != ".fini" && name != abi::runtime_section &&
         name != abi::library_section;
}

bool is_function(const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_size != 0;
}

std::vector<Function> functions_of_symbols(const ElfFile& file) {
  std::vector<Function> found;
  for (const Elf64_Sym& symbol : file.symbols()) {
    if (!is_function(symbol) || symbol.st_shndx >= file.sections().size()) continue;
    const Elf64_Shdr& section = file.sections()[symbol.st_shndx];
    if (!holds_functions(file, section)) continue;
    if (symbol.st_value < section.sh_addr || symbol.st_size > section.sh_size ||
        symbol.st_value - section.sh_addr > section.sh_size - symbol.st_size)
      continue;
    Function function;
    function.start = symbol.st_value;
    function.size = static_cast<std::uint32_t>(std::min<std::uint64_t>(symbol.st_size, UINT32_MAX));
    function.section = symbol.st_shndx;
    function.name = file.name(symbol);
    found.push_back(std::move(function));
  }
  std::ranges::sort(found, [](const Function& a, const Function& b) {
    return std::tie(a.start, b.size, a.name) < std::tie(b.start, a.size, b.name);
  });
  return found;
}

// Aliases and folded functions are one function. A symbol inside another function makes the two
// one pinned function.
std::vector<Function> without_overlap(std::vector<Function> sorted, const Program& program) {
  std::vector<Function> result;
  for (Function& function : sorted) {
    if (!result.empty() && function.start < result.back().end()) {
      Function& previous = result.back();
      if (function.start == previous.start && function.size == previous.size) continue;
      previous.size =
          static_cast<std::uint32_t>(std::max(previous.end(), function.end()) - previous.start);
      program.pin(previous, PinReason::overlaps);
      continue;
    }
    result.push_back(std::move(function));
  }
  return result;
}

// Collects every address that has a name. Something in the program may call it, so our jump must
// not overwrite code from there on.
std::set<std::uint64_t> named_places(const ElfFile& file) {
  std::set<std::uint64_t> places;
  for (const Elf64_Sym& symbol : file.symbols())
    if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) != STT_SECTION &&
        ELF64_ST_TYPE(symbol.st_info) != STT_FILE)
      places.insert(symbol.st_value);
  return places;
}

// Whether only filler bytes and instructions that do nothing lie there.
bool is_padding(const ElfFile& file, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t longest = 15;  // bytes of an instruction
  while (begin < end) {
    auto code = file.at(begin, longest);
    if (code.empty()) code = file.at(begin, end - begin);
    if (code.empty()) return false;
    const auto next = read_instruction(code, begin);
    const bool is_filler = code[0] == 0;
    if (!is_filler && (!next || !next->padding)) return false;
    begin += is_filler ? 1 : next->length;
  }
  return true;
}

bool has_room(const ElfFile& file, const Function& function,
              const std::set<std::uint64_t>& places) {
  const std::uint64_t end = function.start + abi::entry_bytes;
  if (function.start % abi::entry_bytes != 0) return false;
  const Elf64_Shdr& section = file.sections()[function.section];
  if (end > section.sh_addr + section.sh_size) return false;
  const auto next = places.upper_bound(function.start);
  return (next == places.end() || *next >= end) && is_padding(file, function.end(), end);
}

bool starts_program(std::string_view name) {
  return name == "_start" || name == "_init" || name == "_fini" ||
         name == "_dl_relocate_static_pie";
}

// LLVM puts code here whose distances to data, tables and frame descriptions have 64 bits.
bool is_large(std::string_view section) {
  return section == ".ltext" || section.starts_with(".ltext.");
}

bool near_runtime(const ElfFile& file, const Function& function) {
  const Elf64_Shdr* runtime = file.section(abi::runtime_section);
  if (runtime == nullptr) return false;
  return function.start / page <= (runtime->sh_addr + runtime->sh_size - 1) / page &&
         (function.end() - 1) / page >= runtime->sh_addr / page;
}

struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Go's linker puts all Go code between two symbols. If they are missing but its tables show that
// there is Go code, any function may be Go code.
Span go_code(const ElfFile& file) {
  Span span;
  bool any = file.section(".gopclntab") != nullptr || file.section(".go.buildinfo") != nullptr;
  for (const Elf64_Sym& symbol : file.symbols()) {
    if (symbol.st_shndx == SHN_UNDEF) continue;
    const std::string_view name = file.name(symbol);
    if (name == "runtime.text") span.begin = symbol.st_value;
    if (name == "runtime.etext") span.end = symbol.st_value;
    any |= name == "runtime.pclntab";
  }
  if (span.begin != 0 && span.begin < span.end) return span;
  return any ? Span{0, UINT64_MAX} : Span{};
}

void complete(const Program& program, Function& function, const std::set<std::uint64_t>& places,
              const Span& of_go) {
  const ElfFile& file = *program.file;
  const auto code = file.at(function.start, function.size);
  function.code.assign(code.begin(), code.end());
  function.keeps_entry = !has_room(file, function, places);
  if (function.size > abi::fixup_offset_mask / 2 || code.empty())
    program.pin(function, PinReason::too_large);
  if (starts_program(function.name)) program.pin(function, PinReason::startup);
  if (file.name(file.sections()[function.section]) == abi::fixed_section)
    program.pin(function, PinReason::marked);
  if (is_large(file.name(file.sections()[function.section])))
    program.pin(function, PinReason::large_model);
  if (function.start >= of_go.begin && function.start < of_go.end)
    program.pin(function, PinReason::go_code);
  if (near_runtime(file, function)) program.pin(function, PinReason::runtime_page);
}

}  // namespace

std::vector<Gap> code_without_function(const Program& program) {
  std::vector<Gap> found;
  for (std::size_t i = 0; i < program.file->sections().size(); ++i) {
    const Elf64_Shdr& section = program.file->sections()[i];
    if (!holds_functions(*program.file, section)) continue;
    const auto add = [&](std::uint64_t begin, std::uint64_t end) {
      if (end > begin) found.push_back({begin, program.file->at(begin, end - begin), i});
    };
    std::uint64_t at = section.sh_addr;
    for (const Function& function : program.functions) {
      if (function.start < at || function.start >= section.sh_addr + section.sh_size) continue;
      add(at, function.start);
      at = function.end();
    }
    add(at, section.sh_addr + section.sh_size);
  }
  return found;
}

void find_functions(Program& program) {
  add_functions(program, without_overlap(functions_of_symbols(*program.file), program));
  for (Function& function : program.functions)
    function.decoded = decode_function(function.code, function.start);
}

void add_functions(Program& program, std::vector<Function> more) {
  if (more.empty()) return;
  const auto places = named_places(*program.file);
  const Span of_go = go_code(*program.file);
  for (Function& function : more) {
    complete(program, function, places, of_go);
    program.functions.push_back(std::move(function));
  }
  std::ranges::sort(program.functions, {}, &Function::start);
}

void Program::pin(Function& function, PinReason reason) const {
  if (pins_are_final) std::abort();
  if (function.movable()) function.pin_ = reason;
}

Function* Program::find(std::uint64_t address) {
  auto after = std::ranges::upper_bound(functions, address, {}, &Function::start);
  if (after == functions.begin()) return nullptr;
  --after;
  return after->contains(address) ? &*after : nullptr;
}

Function* Program::find_overwritten(std::uint64_t address) {
  auto after = std::ranges::lower_bound(functions, address, {}, &Function::start);
  if (after == functions.begin()) return nullptr;
  --after;
  return address - after->start < abi::entry_bytes ? &*after : nullptr;
}

const Function* Program::find_code(std::uint64_t start) const {
  for (const auto* list : {&functions, &unsized}) {
    const auto found = std::ranges::lower_bound(*list, start, {}, &Function::start);
    if (found != list->end() && found->start == start) return &*found;
  }
  return nullptr;
}

bool Program::begins_unsized(std::uint64_t address) const {
  const auto found = std::ranges::lower_bound(unsized, address, {}, &Function::start);
  return found != unsized.end() && found->start == address && !found->name.empty();
}

std::uint32_t Program::label(const Function& function, std::uint32_t offset) {
  const auto [entry, added] = label_numbers.try_emplace({index(function), offset},
                                                        static_cast<std::uint32_t>(labels.size()));
  if (added) labels.push_back({index(function), offset});
  return entry->second;
}

void Program::hides_by(const Function& function, abi::HideReason reason) {
  if (!hiders.empty() && hiders.back().address == function.start) {
    // A reason with stacks of its own is the more important one, because it also makes pads small.
    hiders.back().reason = std::min(hiders.back().reason, reason);
    return;
  }
  hiders.push_back({function.start, std::string(function.name), reason});
}

std::string_view describe(abi::PinReason reason) {
  switch (reason) {
    case PinReason::none:
      return "";
    case PinReason::marked:
      return "marked STAB_NO_MOVE";
    case PinReason::startup:
      return "runs before the runtime";
    case PinReason::undecodable:
      return "contains bytes that do not form a valid instruction";
    case PinReason::relocation_mismatch:
      return "its instructions and relocations disagree";
    case PinReason::unknown_relocation:
      return "has a relocation of an unknown kind";
    case PinReason::outside_reference:
      return "refers to an address outside itself that would be out of reach after a move";
    case PinReason::label_reference:
      return "the address of one of its labels is used in an unknown way";
    case PinReason::data_in_code:
      return "contains data among its instructions";
    case PinReason::falls_through:
      return "falls through into the code after it";
    case PinReason::overlaps:
      return "overlaps another function";
    case PinReason::too_large:
      return "is too large";
    case PinReason::unwind_info:
      return "its unwind information cannot move with the function";
    case PinReason::caller_sensitive:
      return "calls dlopen, dlsym or a similar function, which checks its caller";
    case PinReason::runtime_page:
      return "shares a page with the runtime";
    case PinReason::unsized:
      return "its size is unknown: no symbol states its size, and its code does not show reliably "
             "where the function ends";
    case PinReason::large_model:
      return "compiled with -mcmodel=large, which uses 64-bit distances";
    case PinReason::own_place:
      return "calls one of its own labels, perhaps to read its own address from the stack";
    case PinReason::go_code:
      return "is Go code; Go's runtime has its own table of code addresses";
    case PinReason::foreign_exceptions:
      return "handles exceptions of a language whose exception tables have an unknown format";
    case PinReason::used_bytes:
      return "the program uses the function's bytes or address range as data, for example to copy "
             "or compare them";
    case PinReason::count:
      break;
  }
  return "unknown reason";
}

std::string_view describe(abi::HideReason reason) {
  switch (reason) {
    case HideReason::none:
    case HideReason::count:
      break;
    case HideReason::switches_stacks:
      return "sets the stack pointer, perhaps to another stack";
    case HideReason::makes_stacks:
      return "creates or switches stacks through libc or Boost";
    case HideReason::comes_back:
      return "may later restore registers that it saved (setcontext, vfork)";
    case HideReason::saves_registers:
      return "calls setjmp and was not compiled by szc";
  }
  return "unknown reason";
}

}  // namespace stab::instrumenter
