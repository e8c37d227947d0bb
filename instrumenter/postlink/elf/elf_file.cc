// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/elf/elf_file.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace stab::instrumenter {
namespace {

// Returns the whole entries; the bytes need not be aligned.
template <class T>
std::vector<T> copy_table(std::span<const std::uint8_t> bytes) {
  std::vector<T> table(bytes.size() / sizeof(T));
  if (!table.empty()) std::memcpy(table.data(), bytes.data(), table.size() * sizeof(T));
  return table;
}

bool is_ours(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_machine == EM_X86_64 && (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

}  // namespace

Result<ElfFile> ElfFile::parse(std::string bytes) {
  ElfFile file;
  file.bytes_ = std::move(bytes);
  if (!file.inside(0, sizeof file.header_)) return fail("not an ELF file: it is too short");
  std::memcpy(&file.header_, file.bytes_.data(), sizeof file.header_);
  if (!is_ours(file.header_)) return fail("not an x86-64 ELF executable or shared library");
  if (auto read = file.read_tables(); !read) return std::unexpected(read.error());
  return file;
}

bool ElfFile::inside(std::uint64_t offset, std::uint64_t size) const {
  return offset <= bytes_.size() && size <= bytes_.size() - offset;
}

std::span<const std::uint8_t> ElfFile::part(std::uint64_t offset, std::uint64_t size) const {
  return {reinterpret_cast<const std::uint8_t*>(bytes_.data()) + offset, size};
}

Result<void> ElfFile::read_tables() {
  if (header_.e_phentsize != sizeof(Elf64_Phdr) ||
      !inside(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr)))
    return fail("the program headers lie outside the file");
  segments_ = copy_table<Elf64_Phdr>(part(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr)));
  for (const Elf64_Phdr& segment : segments_)
    if (!inside(segment.p_offset, segment.p_filesz)) return fail("a segment lies outside the file");
  if (header_.e_shnum == 0) return {};
  if (header_.e_shentsize != sizeof(Elf64_Shdr) ||
      !inside(header_.e_shoff, header_.e_shnum * sizeof(Elf64_Shdr)))
    return fail("the section headers lie outside the file");
  sections_ = copy_table<Elf64_Shdr>(part(header_.e_shoff, header_.e_shnum * sizeof(Elf64_Shdr)));
  for (const Elf64_Shdr& section : sections_)
    if (section.sh_type != SHT_NOBITS && !inside(section.sh_offset, section.sh_size))
      return fail("a section lies outside the file");
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections_.size()) continue;
    symbols_ = copy_table<Elf64_Sym>(contents(section));
    symbol_names_ = section.sh_link;
  }
  return {};
}

std::string_view ElfFile::string_at(std::size_t table, std::uint64_t offset) const {
  if (table >= sections_.size() || sections_[table].sh_type == SHT_NOBITS) return {};
  const Elf64_Shdr& strings = sections_[table];
  if (offset >= strings.sh_size) return {};
  const char* text = bytes_.data() + strings.sh_offset + offset;
  return {text, strnlen(text, strings.sh_size - offset)};
}

std::string_view ElfFile::name(const Elf64_Shdr& section) const {
  return string_at(header_.e_shstrndx, section.sh_name);
}

std::string_view ElfFile::name(const Elf64_Sym& symbol) const {
  return string_at(symbol_names_, symbol.st_name);
}

const Elf64_Shdr* ElfFile::section(std::string_view wanted) const {
  const auto found = std::ranges::find_if(
      sections_, [&](const Elf64_Shdr& section) { return name(section) == wanted; });
  return found == sections_.end() ? nullptr : &*found;
}

bool ElfFile::exports(std::string_view wanted) const {
  const Elf64_Shdr* table = section(".dynsym");
  if (table == nullptr) return false;
  const auto symbols = copy_table<Elf64_Sym>(contents(*table));
  return std::ranges::any_of(symbols, [&](const Elf64_Sym& symbol) {
    return symbol.st_shndx != SHN_UNDEF && string_at(table->sh_link, symbol.st_name) == wanted;
  });
}

std::vector<std::uint64_t> ElfFile::exported_places() const {
  std::vector<std::uint64_t> places;
  const Elf64_Shdr* table = section(".dynsym");
  if (table == nullptr) return places;
  for (const Elf64_Sym& symbol : copy_table<Elf64_Sym>(contents(*table)))
    if (symbol.st_shndx != SHN_UNDEF) places.push_back(symbol.st_value);
  return places;
}

std::span<const std::uint8_t> ElfFile::contents(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS) return {};
  return part(section.sh_offset, section.sh_size);
}

std::optional<std::uint64_t> ElfFile::file_offset(std::uint64_t address, std::uint64_t size) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t offset = address - segment.p_vaddr;
    if (offset <= segment.p_filesz && size <= segment.p_filesz - offset)
      return segment.p_offset + offset;
  }
  return std::nullopt;
}

std::span<const std::uint8_t> ElfFile::at(std::uint64_t address, std::uint64_t size) const {
  const auto offset = file_offset(address, size);
  if (!offset) return {};
  return part(*offset, size);
}

std::vector<Relocation> ElfFile::relocations(std::size_t section_index) const {
  std::vector<Relocation> found;
  for (const Elf64_Shdr& table : sections_) {
    if (table.sh_type != SHT_RELA || (table.sh_flags & SHF_ALLOC) != 0 ||
        table.sh_info != section_index)
      continue;
    for (const Elf64_Rela& entry : copy_table<Elf64_Rela>(contents(table))) {
      const auto symbol = static_cast<std::uint32_t>(ELF64_R_SYM(entry.r_info));
      const std::uint64_t value = symbol < symbols_.size() ? symbols_[symbol].st_value : 0;
      found.push_back({entry.r_offset, static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info)),
                       symbol, value + static_cast<std::uint64_t>(entry.r_addend)});
    }
  }
  std::ranges::sort(found, [](const Relocation& a, const Relocation& b) {
    return std::tie(a.where, a.type) < std::tie(b.where, b.type);
  });
  return found;
}

bool ElfFile::has_unread_relocations() const {
  return std::ranges::any_of(sections_, [&](const Elf64_Shdr& table) {
    const bool relocates = holds_relocations(table) || (table.sh_flags & SHF_INFO_LINK) != 0;
    if (!relocates || table.sh_type == SHT_RELA || (table.sh_flags & SHF_ALLOC) != 0) return false;
    return table.sh_info >= sections_.size() ||
           (sections_[table.sh_info].sh_flags & SHF_ALLOC) != 0;
  });
}

std::uint64_t ElfFile::lowest() const {
  std::uint64_t lowest = UINT64_MAX;
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD) lowest = std::min(lowest, segment.p_vaddr);
  return lowest;
}

std::uint64_t ElfFile::highest() const {
  std::uint64_t highest = 0;
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD) highest = std::max(highest, segment.p_vaddr + segment.p_memsz);
  return highest;
}

}  // namespace stab::instrumenter
