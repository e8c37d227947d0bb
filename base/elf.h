// SPDX-License-Identifier: MIT
// Reads ELF files of 64 bits and little-endian byte order through libelf.
//
// A reader trusts no file: each table must lie inside the file and has at most `most_bytes`, and a
// compressed section stays compressed. A file whose header has another ELF version than 1, or that
// claims more than `most_sections`, can't be read at all. A file may be damaged in one table and whole in the others,
// so each function fails for itself. An Error is a phrase about the file: "its section headers lie
// outside the file". Views end with the reader. One thread uses a reader at a time.
#pragma once

#include <elf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

struct Elf;  // libelf's handle

namespace stab {

class ElfReader {
 public:
  static constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;
  static constexpr std::uint64_t most_sections = std::uint64_t{1} << 20;

  static Result<ElfReader> open(const std::string& path);
  // The descriptor and the bytes stay the caller's, and must outlive the reader. If the file changes
  // while it is read, a table can't be read or has other values, and libelf may allocate memory for
  // sections that it does not have.
  static Result<ElfReader> of(int fd);
  static Result<ElfReader> in_memory(std::string_view bytes);

  [[nodiscard]] const Elf64_Ehdr& header() const { return header_; }

  // The program headers, and whether one of them has this type (false if they can't be read).
  [[nodiscard]] Result<std::vector<Elf64_Phdr>> segments() const;
  [[nodiscard]] bool has_segment(std::uint32_t type) const;

  // The section headers in the file's order; empty if the file has none.
  [[nodiscard]] Result<std::vector<Elf64_Shdr>> sections() const;
  // The text into which sh_name of each of its `sections` points.
  [[nodiscard]] Result<std::string_view> section_names(
      const std::vector<Elf64_Shdr>& sections) const;
  // The first section of this name. It fails if the headers or their names can't be read.
  [[nodiscard]] Result<std::optional<Elf64_Shdr>> find_section(std::string_view name) const;

  // All symbols of a section of type SHT_SYMTAB or SHT_DYNSYM.
  [[nodiscard]] Result<std::vector<Elf64_Sym>> symbols(const Elf64_Shdr& table) const;
  // The entries of the first PT_DYNAMIC segment; empty if the file has none.
  [[nodiscard]] Result<std::vector<Elf64_Dyn>> dynamic() const;
  // Any part of the file, all of it or an error.
  [[nodiscard]] Result<std::string_view> bytes(std::uint64_t offset, std::uint64_t size) const;

  // The name that begins there in a table of names; "" if it doesn't begin and end in the table.
  static std::string_view text_at(std::string_view names, std::uint64_t offset);

 private:
  struct End {
    void operator()(Elf* elf) const;
  };
  explicit ElfReader(Elf* elf) : elf_(elf) {}
  static Result<ElfReader> take(Elf* elf);

  Fd file_;
  std::unique_ptr<Elf, End> elf_;
  Elf64_Ehdr header_{};
};

}  // namespace stab
