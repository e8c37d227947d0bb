// SPDX-License-Identifier: MIT
#include "counters/profiles/symbols.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "base/elf.h"

namespace stab::counters {
namespace {

constexpr int most_enclosing = 16;  // functions that begin between an address and its own function

}  // namespace

class SymbolReader {
 public:
  explicit SymbolReader(const ElfReader& elf) : elf_(elf) {}

  Symbols read() {
    read_segments();
    read_sections();
    std::ranges::sort(symbols_.functions_, [](const auto& a, const auto& b) {
      return a.start != b.start ? a.start < b.start : a.end < b.end;
    });
    return std::move(symbols_);
  }

 private:
  void read_segments() {
    const auto segments = elf_.segments();
    if (!segments) return;
    for (const Elf64_Phdr& each : *segments)
      if (each.p_type == PT_LOAD && (each.p_flags & PF_X) != 0)
        symbols_.segments_.push_back({each.p_offset, each.p_filesz, each.p_vaddr});
  }

  void read_sections() {
    const auto sections = elf_.sections();
    if (!sections) return;
    for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM})
      for (const Elf64_Shdr& each : *sections)
        if (each.sh_type == type && each.sh_link < sections->size() &&
            each.sh_entsize == sizeof(Elf64_Sym)) {
          read_symbols(each, (*sections)[each.sh_link]);
          break;  // a file has one table of each type
        }
  }

  void read_symbols(const Elf64_Shdr& table, const Elf64_Shdr& names) {
    const auto list = elf_.symbols(table);
    const auto bytes = elf_.bytes(names.sh_offset, names.sh_size);
    if (!list || !bytes) return;
    // A name that does not end would be searched to the end of the table, once for each symbol.
    const std::string_view text = bytes->substr(0, bytes->rfind('\0') + 1);
    // Names may share their endings. This limit stops a hostile file whose symbols share whole
    // names.
    const std::size_t most_names = symbols_.names_.size() + 2 * text.size();
    for (const Elf64_Sym& each : *list) {
      const auto type = ELF64_ST_TYPE(each.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || each.st_shndx == SHN_UNDEF) continue;
      if (each.st_size == 0 || each.st_value + each.st_size < each.st_value) continue;
      const std::string_view name = ElfReader::text_at(text, each.st_name);
      if (name.empty()) continue;
      if (symbols_.names_.size() + name.size() > most_names) return;
      symbols_.functions_.push_back({.start = each.st_value,
                                     .end = each.st_value + each.st_size,
                                     .name = symbols_.names_.size(),
                                     .is_global = ELF64_ST_BIND(each.st_info) != STB_LOCAL});
      symbols_.names_.append(name).push_back('\0');
    }
  }

  const ElfReader& elf_;
  Symbols symbols_;
};

Symbols Symbols::of(int fd) {
  const auto elf = ElfReader::of(fd);
  return elf ? SymbolReader(*elf).read() : Symbols();
}

// If the same code has several names, prefers global names, then the shortest, then the first in
// alphabetical order, so that the choice is always the same.
std::string_view Symbols::at(std::uint64_t offset) const {
  const auto segment = std::ranges::find_if(segments_, [&](const Segment& each) {
    return offset >= each.offset && offset - each.offset < each.size;
  });
  if (segment == segments_.end()) return "";
  const std::uint64_t address = offset - segment->offset + segment->address;
  const auto name_of = [&](const Function& each) {
    return std::string_view(names_.c_str() + each.name);
  };
  auto at = std::ranges::upper_bound(functions_, address, {}, &Function::start);
  const Function* best = nullptr;
  for (int looked = 0; at != functions_.begin() && looked < most_enclosing;) {
    const Function& each = *--at;
    if (best != nullptr && each.start != best->start) break;
    if (best == nullptr) ++looked;
    if (address >= each.end) continue;
    const auto rank = [&](const Function& of) {
      return std::tuple(!of.is_global, name_of(of).size(), name_of(of));
    };
    if (best == nullptr || rank(each) < rank(*best)) best = &each;
  }
  return best == nullptr ? "" : name_of(*best);
}

}  // namespace stab::counters
