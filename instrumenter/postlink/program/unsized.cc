// SPDX-License-Identifier: MIT
// Handles code that no sized symbol covers: mostly functions from assemblers that give no sizes.
// Such code becomes a function up to the next symbol if that is certain. The rest stays where it
// is and is counted, so that nobody takes the moving part for the whole.
#include <algorithm>

#include "instrumenter/postlink/program/references.h"

namespace stab::instrumenter {
namespace {

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
