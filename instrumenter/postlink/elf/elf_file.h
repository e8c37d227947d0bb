// SPDX-License-Identifier: MIT
// A 64-bit x86 ELF file in memory, with every offset checked once. Addresses are the linked ones.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runtime/base/byte_reader.h"

namespace stab::instrumenter {

// The runtime's reader, over a span and with a position.
class ByteReader : public rt::ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes)
      : rt::ByteReader(bytes.data(), bytes.size()), begin_(bytes.data()) {}

  [[nodiscard]] bool ok() const { return !failed(); }
  [[nodiscard]] std::size_t position() const { return static_cast<std::size_t>(at() - begin_); }

  std::uint32_t word() { return number<std::uint32_t>(); }
  template <class T>
  T number() {
    return static_cast<T>(fixed(sizeof(T)));
  }

 private:
  const std::uint8_t* begin_;
};

struct Relocation {
  std::uint64_t where = 0;
  std::uint32_t type = 0;
  std::uint32_t symbol = 0;
  std::uint64_t target = 0;  // the symbol's value plus the addend
};

// Whether the field leads to a word of the linker's table (the GOT), which holds the address of the
// symbol.
inline bool goes_through_got(std::uint32_t type) {
  return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

// LLVM's compact form of relocations (clang's -Wa,--crel), which <elf.h> does not have yet.
constexpr std::uint32_t sht_crel = 0x40000014;
inline bool holds_relocations(const Elf64_Shdr& section) {
  return section.sh_type == SHT_RELA || section.sh_type == SHT_REL || section.sh_type == sht_crel;
}

class ElfFile {
 public:
  // Fails on anything that is not a complete 64-bit little-endian x86-64 executable or shared
  // library.
  static Result<ElfFile> parse(std::string bytes);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] const Elf64_Ehdr& header() const { return header_; }
  [[nodiscard]] std::span<const Elf64_Phdr> segments() const { return segments_; }
  [[nodiscard]] std::span<const Elf64_Shdr> sections() const { return sections_; }
  [[nodiscard]] std::span<const Elf64_Sym> symbols() const { return symbols_; }

  [[nodiscard]] std::string_view name(const Elf64_Shdr& section) const;
  [[nodiscard]] std::string_view name(const Elf64_Sym& symbol) const;
  [[nodiscard]] const Elf64_Shdr* section(std::string_view name) const;
  // Whether other images can find this name here; false without dynamic symbols.
  [[nodiscard]] bool exports(std::string_view name) const;
  // Returns the addresses of everything that other images can find here.
  [[nodiscard]] std::vector<std::uint64_t> exported_places() const;
  // The section's bytes, which a section of zeros and one in a file of debugging information lack.
  [[nodiscard]] std::span<const std::uint8_t> contents(const Elf64_Shdr& section) const;

  // Returns the bytes that the file has for these addresses, or nothing if it lacks any of them.
  [[nodiscard]] std::span<const std::uint8_t> at(std::uint64_t address, std::uint64_t size) const;
  [[nodiscard]] std::optional<std::uint64_t> file_offset(std::uint64_t address,
                                                         std::uint64_t size) const;

  // Returns the relocations that --emit-relocs kept for this section, sorted by place.
  [[nodiscard]] std::vector<Relocation> relocations(std::size_t section_index) const;
  // Whether it kept relocations of loaded sections in a form that relocations() does not read.
  [[nodiscard]] bool has_unread_relocations() const;

  // The lowest and highest address of the loaded image.
  [[nodiscard]] std::uint64_t lowest() const;
  [[nodiscard]] std::uint64_t highest() const;

 private:
  Result<void> read_tables();
  [[nodiscard]] bool inside(std::uint64_t offset, std::uint64_t size) const;
  [[nodiscard]] std::span<const std::uint8_t> part(std::uint64_t offset, std::uint64_t size) const;
  [[nodiscard]] std::string_view string_at(std::size_t table, std::uint64_t offset) const;

  std::string bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::size_t symbol_names_ = 0;
};

}  // namespace stab::instrumenter
