// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/program/references.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace stab::instrumenter {
namespace {

using Kind = Reference::Kind;

constexpr std::uint64_t field = 4;  // bytes; a distance counts from the field's end

Reference to(Kind kind, std::uint64_t target, std::uint64_t from) {
  return {kind, target, target, from};
}

Kind kind_of(Operand::Use use) {
  switch (use) {
    case Operand::Use::call:
    case Operand::Use::jump:
      return Kind::branch;
    case Operand::Use::address:
      return Kind::address;
    case Operand::Use::access:
      break;
  }
  return Kind::content;
}

// Whether the `size` bytes at `at` may be a branch's distance. Nobody knows where instructions
// begin, so each branch counts that the bytes before it make: opcodes have one or two bytes.
bool ends_branch(std::span<const std::uint8_t> code, std::size_t at, std::size_t size) {
  for (std::size_t opcode = 1; opcode <= std::min<std::size_t>(at, 2); ++opcode) {
    const auto read = read_instruction(code.subspan(at - opcode, opcode + size), 0);
    const auto distance = read ? pc_relative_field(*read) : std::nullopt;
    if (distance && distance->is_branch() && distance->offset == opcode && distance->size == size)
      return true;
  }
  return false;
}

template <class Distance>
void references_of_bytes(const Function& function, const TakeReference& take) {
  for (std::size_t at = 0; at + sizeof(Distance) <= function.code.size(); ++at) {
    Distance distance = 0;
    std::memcpy(&distance, function.code.data() + at, sizeof distance);
    const std::uint64_t from = function.start + at;
    const std::uint64_t target =
        from + sizeof distance + static_cast<std::uint64_t>(std::int64_t{distance});
    if (function.contains(target)) continue;
    const bool branches = ends_branch(function.code, at, sizeof distance);
    take(to(branches ? Kind::branch : Kind::address, target, from));
  }
}

bool is_absolute(std::uint32_t type) {
  return type == R_X86_64_64 || type == R_X86_64_32 || type == R_X86_64_32S;
}

bool is_distance(std::uint32_t type) {
  return type == R_X86_64_PC32 || type == R_X86_64_PLT32;
}

class RelocationReader {
 public:
  RelocationReader(const ElfFile& file, std::span<const std::uint64_t> named,
                   const std::function<bool(std::uint64_t)>& is_decoded, const TakeReference& take)
      : file_(file), named_(named), is_decoded_(is_decoded), take_(take) {}

  // Frame descriptions are read elsewhere, and that finds one that begins inside a function.
  void run() {
    for (std::size_t i = 0; i < file_.sections().size(); ++i) {
      const Elf64_Shdr& section = file_.sections()[i];
      if ((section.sh_flags & SHF_ALLOC) == 0 || file_.name(section) == ".eh_frame" ||
          is_unread_list(file_, file_.name(section)))
        continue;
      if ((section.sh_flags & SHF_EXECINSTR) != 0)
        read_code(i);
      else
        read_data(i);
    }
  }

 private:
  void read_code(std::size_t section) {
    for (const Relocation& relocation : file_.relocations(section)) {
      const Elf64_Sym* symbol = symbol_of(relocation);
      if (symbol == nullptr || ELF64_ST_TYPE(symbol->st_info) == STT_TLS) continue;
      if (is_absolute(relocation.type))
        take_(to(Kind::address, relocation.target, relocation.where));
      else if (goes_through_got(relocation.type))
        take_(to(Kind::address, symbol->st_value, relocation.where));
      else if (!is_distance(relocation.type))
        take_({Kind::content, relocation.target, relocation.target + field, relocation.where});
      else if (!is_decoded_(relocation.where))
        take_(to(Kind::address, relocation.target + field, relocation.where));
    }
  }

  // The words between two named places may be a table, whose distances may count from any of its
  // words.
  void read_data(std::size_t section) {
    for (const Relocation& relocation : file_.relocations(section)) {
      if (is_absolute(relocation.type))
        take_(to(Kind::address, relocation.target, relocation.where));
      else if (refers_to_code(relocation))
        take_({Kind::address,
               relocation.target - std::min(relocation.target, depth(relocation, section)),
               relocation.target, relocation.where});
    }
  }

  // Returns how far the word is from the beginning of its table at most.
  [[nodiscard]] std::uint64_t depth(const Relocation& relocation, std::size_t section) const {
    const auto behind = std::ranges::upper_bound(named_, relocation.where);
    const std::uint64_t named = behind == named_.begin() ? 0 : *(behind - 1);
    return relocation.where - std::max(named, file_.sections()[section].sh_addr);
  }

  [[nodiscard]] const Elf64_Sym* symbol_of(const Relocation& relocation) const {
    const auto symbols = file_.symbols();
    return relocation.symbol < symbols.size() ? &symbols[relocation.symbol] : nullptr;
  }

  [[nodiscard]] bool refers_to_code(const Relocation& relocation) const {
    const Elf64_Sym* symbol = symbol_of(relocation);
    return symbol != nullptr && symbol->st_shndx < file_.sections().size() &&
           (file_.sections()[symbol->st_shndx].sh_flags & SHF_EXECINSTR) != 0;
  }

  const ElfFile& file_;
  const std::span<const std::uint64_t> named_;
  const std::function<bool(std::uint64_t)>& is_decoded_;
  const TakeReference& take_;
};

}  // namespace

void references_of(const Function& function, const TakeReference& take) {
  if (!function.decoded.complete) {
    references_of_bytes<std::int8_t>(function, take);
    references_of_bytes<std::int32_t>(function, take);
    return;
  }
  for (const Operand& operand : function.decoded.operands)
    take(to(kind_of(operand.use), operand.target, function.start + operand.offset));
}

void references_of(const ElfFile& file, std::span<const std::uint64_t> named,
                   const std::function<bool(std::uint64_t)>& is_decoded,
                   const TakeReference& take) {
  RelocationReader(file, named, is_decoded, take).run();
  for (const std::uint64_t place : file.exported_places()) take(to(Kind::address, place, 0));
  take(to(Kind::content, file.header().e_entry, 0));
}

bool asks_for_bounds(const ElfFile& file, std::string_view section) {
  const std::string start = "__start_" + std::string(section);
  const std::string stop = "__stop_" + std::string(section);
  return std::ranges::any_of(file.symbols(), [&](const Elf64_Sym& symbol) {
    const std::string_view name = file.name(symbol);
    return name == start || name == stop;
  });
}

bool is_unread_list(const ElfFile& file, std::string_view section) {
  // The linker gives no bounds of a section whose name begins with a dot.
  return section == ".kcfi_traps" ||
         (section == patchable_entries && !asks_for_bounds(file, section));
}

}  // namespace stab::instrumenter
