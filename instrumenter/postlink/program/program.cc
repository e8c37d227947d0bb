// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/program/program.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <tuple>

#include "instrumenter/postlink/program/references.h"

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

std::vector<std::uint32_t> groups_by_jumps(Program& program) {
  std::vector<std::uint32_t> group(program.functions.size());
  std::iota(group.begin(), group.end(), 0U);
  const auto first_of = [&group](std::uint32_t function) {
    while (group[function] != function) function = group[function];
    return function;
  };
  for (const Function& function : program.functions)
    for (const Operand& operand : function.decoded.operands) {
      if (!operand.is_branch() || function.contains(operand.target)) continue;
      const Function* other = program.find(operand.target);
      if (other == nullptr || (other->start == operand.target && !is_cold_part(other->name)))
        continue;
      const std::uint32_t a = first_of(program.index(function));
      const std::uint32_t b = first_of(program.index(*other));
      group[std::max(a, b)] = std::min(a, b);
    }
  for (std::uint32_t& each : group) each = first_of(each);
  return group;
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
      return "refers to an address outside the function; a moved function could not reach this "
             "address";
    case PinReason::label_reference:
      return "the program uses the address of one of the function's labels in an unknown way";
    case PinReason::data_in_code:
      return "contains data among its instructions";
    case PinReason::falls_through:
      return "falls through into the code after it";
    case PinReason::overlaps:
      return "overlaps another function";
    case PinReason::too_large:
      return "is too large";
    case PinReason::unwind_info:
      return "the function's unwind information cannot move with it";
    case PinReason::caller_sensitive:
      return "calls dlopen, dlsym or a similar function; such a function checks its caller";
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
      return "handles exceptions of a language whose exception tables are read by code that szc "
             "does not know";
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

namespace {

// Handles code that no sized symbol covers: mostly functions from assemblers that give no sizes.
// Such code becomes a function up to the next symbol if that is certain. The rest stays where it
// is and is counted, so that nobody takes the moving part for the whole.

struct Piece {
  Function function;        // without padding; it has no name if no symbol begins here
  std::uint64_t limit = 0;  // where the next piece or function begins
  std::span<const std::uint8_t> code;
  bool typed = true;     // all symbols that begin here say that it is a function
  bool entered = false;  // a branch in other code leads to its start
  bool stays = false;
};

bool is_typed(const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return type == STT_FUNC || type == STT_GNU_IFUNC;
}

// Whether other code can refer to the symbol. The linker makes hidden symbols local, but leaves
// them marked as hidden.
bool is_for_others(const Elf64_Sym& symbol) {
  return ELF64_ST_BIND(symbol.st_info) != STB_LOCAL ||
         ELF64_ST_VISIBILITY(symbol.st_other) != STV_DEFAULT;
}

// Labels inside such a function may be symbols, too. Only a symbol that others can refer to, or
// that is called a function, begins another function.
bool begins_function(const ElfFile& file, const Elf64_Sym& symbol) {
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE &&
         !file.name(symbol).empty() &&
         (is_typed(symbol) ||
          (ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE && is_for_others(symbol)));
}

// If the code cannot be decoded, these bytes at its ends count as padding.
bool is_filler(std::uint8_t byte) {
  return byte == 0xcc || byte == 0x90 || byte == 0;
}

void keep(Piece& piece, std::size_t begin, std::size_t end) {
  piece.stays |= begin != 0;
  piece.code = piece.code.subspan(begin, end - begin);
  piece.function.start += begin;
}

void drop_filler(Piece& piece) {
  const auto is_code = [](std::uint8_t byte) { return !is_filler(byte); };
  const auto first = std::ranges::find_if(piece.code, is_code);
  std::size_t end = piece.code.size();
  while (end > 0 && is_filler(piece.code[end - 1])) --end;
  const auto begin = static_cast<std::size_t>(first - piece.code.begin());
  keep(piece, begin, std::max(begin, end));
}

void drop_padding(Piece& piece) {
  std::size_t begin = piece.code.size();
  std::size_t end = begin;
  const bool complete =
      for_each_instruction(piece.code, piece.function.start, [&](const Instruction& next) {
        if (next.padding) return;
        begin = std::min<std::size_t>(begin, next.offset);
        end = next.end();
      });
  complete ? keep(piece, begin, end) : drop_filler(piece);
}

std::vector<Piece> split(const Gap& gap, std::span<const Elf64_Sym> beginnings,
                         const ElfFile& file) {
  std::vector<Piece> pieces(1);
  pieces.back().function.start = gap.start;
  const std::uint64_t end = gap.start + gap.code.size();
  const auto first = std::ranges::lower_bound(beginnings, gap.start, {}, &Elf64_Sym::st_value);
  for (auto symbol = first; symbol != beginnings.end() && symbol->st_value < end; ++symbol) {
    if (pieces.back().function.start != symbol->st_value) pieces.emplace_back();
    Piece& piece = pieces.back();
    piece.function.start = symbol->st_value;
    if (piece.function.name.empty() || is_typed(*symbol)) piece.function.name = file.name(*symbol);
    piece.typed &= is_typed(*symbol);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::uint64_t start = pieces[i].function.start;
    pieces[i].limit = i + 1 < pieces.size() ? pieces[i + 1].function.start : end;
    pieces[i].code = gap.code.subspan(start - gap.start, pieces[i].limit - start);
    pieces[i].function.section = gap.section;
  }
  return pieces;
}

std::vector<Piece> find_pieces(const Program& program) {
  std::vector<Elf64_Sym> beginnings;
  for (const Elf64_Sym& symbol : program.file->symbols())
    if (begins_function(*program.file, symbol)) beginnings.push_back(symbol);
  std::ranges::sort(beginnings, {}, [](const Elf64_Sym& symbol) {
    return std::pair(symbol.st_value, symbol.st_name);
  });
  std::vector<Piece> found;
  for (const Gap& gap : code_without_function(program))
    for (Piece& piece : split(gap, beginnings, *program.file)) {
      drop_padding(piece);
      if (piece.code.empty()) continue;
      Function& function = piece.function;
      function.size = static_cast<std::uint32_t>(piece.code.size());
      function.code.assign(piece.code.begin(), piece.code.end());
      function.decoded = decode_function(piece.code, function.start);
      found.push_back(std::move(piece));
    }
  std::ranges::sort(found, {}, &Piece::limit);
  return found;
}

// Whether the jump goes through a word at a fixed place, as jumps to another image do.
bool jumps_through_one_word(const Instruction& jump) {
  return jump.memory && !jump.memory->foreign && jump.memory->base == no_register &&
         !jump.memory->is_indexed();
}

class Judge {
 public:
  Judge(Program& program, std::vector<Piece>& pieces) : program_(program), pieces_(pieces) {}

  void run() {
    for (Piece& piece : pieces_) piece.stays |= !is_whole(piece) || !leads_to_starts(piece);
    look_at_symbols();
    const TakeReference take = [this](const Reference& reference) { look_at(reference); };
    for (const Function& function : program_.functions) references_of(function, take);
    for (const Piece& piece : pieces_) references_of(piece.function, take);
    references_of(
        *program_.file, named_places(), [this](std::uint64_t place) { return is_decoded(place); },
        take);
    // If no symbol calls it a function and nothing enters it, it may be data that looks like code.
    for (Piece& piece : pieces_) piece.stays |= !piece.typed && !piece.entered;
  }

 private:
  // Returns the places from which distances may count.
  [[nodiscard]] std::vector<std::uint64_t> named_places() const {
    std::vector<std::uint64_t> places;
    for (const Elf64_Sym& symbol : program_.file->symbols())
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE)
        places.push_back(symbol.st_value);
    const auto add = [&places](const Function& function) {
      for (const Operand& operand : function.decoded.operands)
        if (operand.use == Operand::Use::address) places.push_back(operand.target);
    };
    for (const Function& function : program_.functions) add(function);
    for (const Piece& piece : pieces_) add(piece.function);
    std::ranges::sort(places);
    return places;
  }

  // Whether the piece is decoded from end to end, and all jumps and returns that leave it are
  // understood.
  [[nodiscard]] bool is_whole(const Piece& piece) const {
    const Function& function = piece.function;
    if (function.name.empty() || !function.decoded.complete || function.decoded.open_end)
      return false;
    const std::vector<Instruction> code = read_instructions(piece.code, function.start);
    using Does = Instruction::Does;
    const auto is_clear = [&](const Instruction& next) {
      if (next.does == Does::jump_anywhere) return jumps_through_one_word(next);
      // The code may learn its own place by this call, or the callee may find data behind the
      // call.
      return next.does != Does::call || next.target == function.start || !is_piece(next.target);
    };
    // A call at the end may return.
    return !code.empty() && code.back().ends_here() && std::ranges::all_of(code, is_clear);
  }

  [[nodiscard]] bool leads_to_starts(const Piece& piece) const {
    return std::ranges::all_of(piece.function.decoded.operands, [&](const Operand& operand) {
      const std::uint64_t target = operand.target;
      if (!operand.is_branch()) return true;
      if (piece.function.contains(target)) return true;
      if (const Function* other = program_.find(target)) return other->start == target;
      const Piece* other = find(target);
      return other == nullptr || (other->function.start == target && !other->function.name.empty());
    });
  }

  // Returns the piece whose code or padding contains this address.
  [[nodiscard]] Piece* find(std::uint64_t address) const {
    const auto piece = std::ranges::upper_bound(pieces_, address, {}, &Piece::limit);
    return piece != pieces_.end() && piece->function.start <= address ? &*piece : nullptr;
  }

  [[nodiscard]] bool is_piece(std::uint64_t address) const { return find(address) != nullptr; }

  [[nodiscard]] bool is_decoded(std::uint64_t address) const {
    if (const Function* function = program_.find(address)) return function->decoded.complete;
    const Piece* piece = find(address);
    return piece != nullptr && piece->function.decoded.complete;
  }

  // A label in the middle of an instruction belongs to data, or the bytes are not an instruction.
  void look_at_symbols() {
    for (const Elf64_Sym& symbol : program_.file->symbols()) {
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || type == STT_SECTION || type == STT_FILE ||
          type == STT_TLS)
        continue;
      Piece* piece = find(symbol.st_value);
      if (piece == nullptr) continue;
      const Function& function = piece->function;
      piece->stays |= type == STT_OBJECT || (function.contains(symbol.st_value) &&
                                             !function.starts_instruction(symbol.st_value));
    }
  }

  void look_at(const Reference& reference) {
    auto piece = std::ranges::lower_bound(pieces_, reference.first, {}, &Piece::limit);
    if (piece != pieces_.end() && piece->limit == reference.first) {
      piece->stays |= piece->function.end() == piece->limit && !is_harmless_end(reference);
      ++piece;
    }
    for (; piece != pieces_.end() && piece->function.start <= reference.last; ++piece) {
      piece->stays |= !is_harmless(reference, *piece);
      piece->entered |= reference.kind == Reference::Kind::branch &&
                        reference.first == piece->function.start &&
                        !piece->function.contains(reference.from);
    }
  }

  // Code that has the address of a function's end may ask whether an address lies in the function,
  // or copy it.
  [[nodiscard]] bool is_harmless_end(const Reference& reference) const {
    if (reference.kind == Reference::Kind::branch) return true;
    const Piece* next = find(reference.first);
    return program_.find(reference.first) != nullptr ||
           (next != nullptr && next->typed && !next->function.name.empty());
  }

  // Calls from anywhere and jumps inside the piece are harmless. If the piece is called a
  // function, it is also harmless to take its address elsewhere.
  static bool is_harmless(const Reference& reference, const Piece& piece) {
    const Function& function = piece.function;
    const bool at_start = reference.first == function.start && reference.last == function.start;
    switch (reference.kind) {
      case Reference::Kind::branch:
        return at_start ||
               (function.contains(reference.from) && function.starts_instruction(reference.first));
      case Reference::Kind::address:
        return at_start && piece.typed && !function.contains(reference.from);
      case Reference::Kind::content:
        break;
    }
    return false;
  }

  Program& program_;
  std::vector<Piece>& pieces_;
};

}  // namespace

void find_unsized(Program& program) {
  std::vector<Piece> pieces = find_pieces(program);
  Judge(program, pieces).run();
  std::vector<Function> whole;
  for (Piece& piece : pieces) {
    if (piece.stays) program.pin(piece.function, abi::PinReason::unsized);
    (piece.stays ? program.unsized : whole).push_back(std::move(piece.function));
  }
  add_functions(program, std::move(whole));
}

}  // namespace stab::instrumenter
