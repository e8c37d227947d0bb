// SPDX-License-Identifier: MIT
#include "counters/profiles/symbols.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

namespace stab::counters {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;  // of one table
constexpr int most_enclosing = 16;  // functions that begin between an address and its own function

// All or nothing.
bool read_at(int fd, std::uint64_t offset, void* to, std::size_t size) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = pread(fd, at, size, static_cast<off_t>(offset));
    if (n <= 0) return false;
    at += n;
    offset += static_cast<std::uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

template <class T>
std::optional<std::vector<T>> read_table(int fd, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes > most_bytes || offset > most_bytes * most_bytes) return std::nullopt;
  const off_t end = lseek(fd, 0, SEEK_END);
  if (end < 0 || offset > static_cast<std::uint64_t>(end) ||
      bytes > static_cast<std::uint64_t>(end) - offset)
    return std::nullopt;
  std::vector<T> table(bytes / sizeof(T));
  if (!read_at(fd, offset, table.data(), table.size() * sizeof(T))) return std::nullopt;
  return table;
}

}  // namespace

class SymbolReader {
 public:
  explicit SymbolReader(int fd) : fd_(fd) {}

  Symbols read() {
    Elf64_Ehdr header{};
    if (!read_at(fd_, 0, &header, sizeof header) || !is_ours(header)) return {};
    read_segments(header);
    read_sections(header);
    std::ranges::sort(symbols_.functions_, [](const auto& a, const auto& b) {
      return a.start != b.start ? a.start < b.start : a.end < b.end;
    });
    return std::move(symbols_);
  }

 private:
  static bool is_ours(const Elf64_Ehdr& header) {
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
           header.e_phentsize == sizeof(Elf64_Phdr) &&
           (header.e_shnum == 0 || header.e_shentsize == sizeof(Elf64_Shdr));
  }

  void read_segments(const Elf64_Ehdr& header) {
    const auto segments = read_table<Elf64_Phdr>(
        fd_, header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
    if (!segments) return;
    for (const Elf64_Phdr& each : *segments)
      if (each.p_type == PT_LOAD && (each.p_flags & PF_X) != 0)
        symbols_.segments_.push_back({each.p_offset, each.p_filesz, each.p_vaddr});
  }

  void read_sections(const Elf64_Ehdr& header) {
    std::uint64_t count = header.e_shnum;
    if (header.e_shoff == 0) return;
    Elf64_Shdr first{};
    // More sections than the header can say.
    if (count == 0 && read_at(fd_, header.e_shoff, &first, sizeof first)) count = first.sh_size;
    if (count > most_bytes / sizeof(Elf64_Shdr)) return;
    const auto sections = read_table<Elf64_Shdr>(fd_, header.e_shoff, count * sizeof(Elf64_Shdr));
    if (!sections) return;
    for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM})
      for (const Elf64_Shdr& each : *sections)
        if (each.sh_type == type && each.sh_link < sections->size() &&
            each.sh_entsize == sizeof(Elf64_Sym)) {
          read_symbols(each, (*sections)[each.sh_link]);
          break;  // a file has one of each
        }
  }

  void read_symbols(const Elf64_Shdr& table, const Elf64_Shdr& names) {
    const auto list = read_table<Elf64_Sym>(fd_, table.sh_offset, table.sh_size);
    const auto text = read_table<char>(fd_, names.sh_offset, names.sh_size);
    if (!list || !text) return;
    // Names may share their ends, but not all of themselves.
    const std::size_t most_names = symbols_.names_.size() + 2 * text->size();
    for (const Elf64_Sym& each : *list) {
      const auto type = ELF64_ST_TYPE(each.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || each.st_shndx == SHN_UNDEF) continue;
      if (each.st_size == 0 || each.st_value + each.st_size < each.st_value) continue;
      if (each.st_name >= text->size()) continue;
      const auto begin = text->begin() + static_cast<std::ptrdiff_t>(each.st_name);
      const auto end = std::find(begin, text->end(), '\0');
      if (begin == end || end == text->end()) continue;
      if (symbols_.names_.size() + static_cast<std::size_t>(end - begin) > most_names) return;
      symbols_.functions_.push_back({.start = each.st_value,
                                     .end = each.st_value + each.st_size,
                                     .name = symbols_.names_.size(),
                                     .is_global = ELF64_ST_BIND(each.st_info) != STB_LOCAL});
      symbols_.names_.append(begin, end).push_back('\0');
    }
  }

  int fd_;
  Symbols symbols_;
};

Symbols Symbols::of(int fd) {
  return SymbolReader(fd).read();
}

// Of several names for the same code the shortest that is global, and of those the first by the
// alphabet, so that it is the same one each time.
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
