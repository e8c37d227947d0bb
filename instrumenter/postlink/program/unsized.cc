// SPDX-License-Identifier: MIT
// Code that no sized symbol covers: functions of assemblers that give no sizes, above all. It stays
// where it is, and is counted, so that nobody takes the rest for the whole.
#include <algorithm>

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::string_view no_name = "(code without a name)";

struct Piece {
  std::uint64_t start = 0;
  Bytes code;
  std::string_view name;
};

// Labels inside of such a function may be symbols, too: only what others can refer to, or what is
// called a function, begins another one.
bool begins_function(const ElfFile& file, const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE &&
         !file.name(symbol).empty() &&
         (type == STT_FUNC || type == STT_GNU_IFUNC ||
          (type == STT_NOTYPE && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL));
}

// Padding may be single bytes that are an instruction, or anything where the code is none.
bool is_filler(std::uint8_t byte) {
  return byte == 0xcc || byte == 0x90 || byte == 0;
}

Piece without_filler(Piece piece) {
  while (!piece.code.empty() && is_filler(piece.code.back()))
    piece.code = piece.code.first(piece.code.size() - 1);
  while (!piece.code.empty() && is_filler(piece.code.front())) {
    piece.code = piece.code.subspan(1);
    ++piece.start;
  }
  return piece;
}

Piece without_padding(Piece piece, const Decoder& decoder) {
  const std::vector<StackStep> steps = decoder.stack_steps(piece.code, piece.start);
  const auto first = std::ranges::find(steps, false, &StackStep::padding);
  if (steps.empty()) return without_filler(piece);
  if (first == steps.end()) return {piece.start, {}, piece.name};
  std::size_t end = 0;
  for (const StackStep& step : steps)
    if (!step.padding) end = step.offset + step.length;
  return {piece.start + first->offset, piece.code.subspan(first->offset, end - first->offset),
          piece.name};
}

std::vector<Piece> split(Piece whole, std::span<const Elf64_Sym> beginnings, const ElfFile& file) {
  std::vector<Piece> pieces = {whole};
  for (const Elf64_Sym& symbol : beginnings) {
    Piece& last = pieces.back();
    if (symbol.st_value < last.start || symbol.st_value - last.start >= last.code.size()) continue;
    const std::size_t at = symbol.st_value - last.start;
    const Piece next = {symbol.st_value, last.code.subspan(at), file.name(symbol)};
    last.code = last.code.first(at);
    if (at == 0)
      last = next;
    else
      pieces.push_back(next);
  }
  return pieces;
}

}  // namespace

void find_unsized(Program& program, const Decoder& decoder) {
  std::vector<Elf64_Sym> beginnings;
  for (const Elf64_Sym& symbol : program.file->symbols())
    if (begins_function(*program.file, symbol)) beginnings.push_back(symbol);
  std::ranges::sort(beginnings, {}, &Elf64_Sym::st_value);
  for (const auto& [start, code] : code_without_function(program))
    for (Piece piece : split({start, code, no_name}, beginnings, *program.file)) {
      piece = without_padding(piece, decoder);
      if (piece.code.empty()) continue;
      Function function;
      function.start = piece.start;
      function.size = static_cast<std::uint32_t>(piece.code.size());
      function.name = piece.name;
      function.pin_because(abi::PinReason::unsized);
      function.decoded = decoder.decode(piece.code, piece.start);
      program.unsized.push_back(std::move(function));
    }
}

}  // namespace stab::instrumenter
