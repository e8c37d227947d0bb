// SPDX-License-Identifier: MIT
#include "base/elf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace stab {
namespace {

std::unexpected<Error> outside(std::string_view what) {
  return fail(fmt::format("{} lie outside the file", what));
}

bool is_known(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
}

// libelf allocates memory for each section that a file claims to have, before anybody can ask it for
// their number. `read` copies a part of the file, all of it or false.
template <class Read>
Result<void> check_head(const Read& read) {
  Elf64_Ehdr header{};
  if (!read(0, &header, sizeof header) || !is_known(header))
    return fail("the file is not a 64-bit little-endian ELF file");
  Elf64_Shdr first{};
  // A file with many sections has their number in its first section.
  if (header.e_shnum == 0 && header.e_shoff != 0 && read(header.e_shoff, &first, sizeof first) &&
      first.sh_size > ElfReader::most_sections)
    return fail(fmt::format("the ELF file has {} sections, but at most {} are allowed",
                            first.sh_size, ElfReader::most_sections));
  return {};
}

// A part of the file in the byte order of this machine.
Result<std::string_view> chunk(Elf* elf, std::uint64_t offset, std::uint64_t size, Elf_Type type) {
  if (size == 0) return "";
  if (size > ElfReader::most_bytes)
    return fail(fmt::format("the ELF file has a table of {} bytes, but at most {} are allowed",
                            size, ElfReader::most_bytes));
  const Elf_Data* data =
      offset > INT64_MAX ? nullptr
                         : elf_getdata_rawchunk(elf, static_cast<std::int64_t>(offset), size, type);
  if (data == nullptr || data->d_size != size)
    return fail(fmt::format("the {} bytes at offset {} cannot be read", size, offset));
  return std::string_view(static_cast<const char*>(data->d_buf), size);
}

template <class T>
Result<std::vector<T>> table_at(Elf* elf, std::uint64_t offset, std::uint64_t size, Elf_Type type) {
  const auto bytes = chunk(elf, offset, size / sizeof(T) * sizeof(T), type);
  if (!bytes) return std::unexpected(bytes.error());
  std::vector<T> items(bytes->size() / sizeof(T));
  if (!items.empty()) std::memcpy(items.data(), bytes->data(), bytes->size());
  return items;
}

}  // namespace

void ElfReader::End::operator()(Elf* elf) const {
  elf_end(elf);
}

Result<ElfReader> ElfReader::take(Elf* elf) {
  ElfReader reader(elf);
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &reader.header_) == nullptr)
    return fail(fmt::format("libelf cannot read it: {}", elf_errmsg(-1)));
  return reader;
}

Result<ElfReader> ElfReader::of(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return fail_errno("it cannot be read");
  if (!S_ISREG(status.st_mode)) return fail("the file is not a regular file");
  const auto checked = check_head([&](std::uint64_t offset, void* to, std::size_t size) {
    return offset <= INT64_MAX &&
           pread(fd, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  });
  if (!checked) return std::unexpected(checked.error());
  elf_version(EV_CURRENT);
  // Without a mapping of the file: reading one that somebody cuts short would end us with SIGBUS.
  return take(elf_begin(fd, ELF_C_READ, nullptr));
}

Result<ElfReader> ElfReader::open(const std::string& path) {
  // Without O_NONBLOCK a FIFO that nobody writes would hang us.
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail_errno("it cannot be read");
  auto reader = of(file.get());
  if (reader) reader->file_ = std::move(file);
  return reader;
}

Result<ElfReader> ElfReader::in_memory(std::string_view bytes) {
  const auto checked = check_head([&](std::uint64_t offset, void* to, std::size_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) return false;
    std::memcpy(to, bytes.data() + offset, size);
    return true;
  });
  if (!checked) return std::unexpected(checked.error());
  elf_version(EV_CURRENT);
  // libelf writes nothing into the bytes of a file that it only reads.
  return take(elf_memory(const_cast<char*>(bytes.data()), bytes.size()));
}

Result<std::vector<Elf64_Phdr>> ElfReader::segments() const {
  if (header_.e_phnum == 0) return {};
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == PN_XNUM)
    return fail("the program headers of the ELF file have an unknown format");
  auto all = table_at<Elf64_Phdr>(elf_.get(), header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr),
                                  ELF_T_PHDR);
  if (!all) return outside("its program headers");
  return all;
}

bool ElfReader::has_segment(std::uint32_t type) const {
  const auto all = segments();
  return all && std::ranges::find(*all, type, &Elf64_Phdr::p_type) != all->end();
}

Result<std::vector<Elf64_Shdr>> ElfReader::sections() const {
  if (header_.e_shoff == 0) return {};
  if (header_.e_shentsize != sizeof(Elf64_Shdr))
    return fail("the section headers of the ELF file have an unknown format");
  const auto read = [&](std::uint64_t count) {
    return table_at<Elf64_Shdr>(elf_.get(), header_.e_shoff, count * sizeof(Elf64_Shdr),
                                ELF_T_SHDR);
  };
  std::uint64_t count = header_.e_shnum;
  if (count == 0) {
    const auto first = read(1);
    count = first ? std::min(first->front().sh_size, most_sections + 1) : most_sections + 1;
  }
  auto all = read(count);
  if (!all || count > most_sections) return outside("its section headers");
  return all;
}

Result<std::string_view> ElfReader::section_names(const std::vector<Elf64_Shdr>& sections) const {
  // A file with many sections has the index of their names in its first section, too.
  std::size_t index = header_.e_shstrndx;
  if (index == SHN_XINDEX && !sections.empty()) index = sections.front().sh_link;
  if (index >= sections.size()) return outside("the names of its sections");
  return bytes(sections[index].sh_offset, sections[index].sh_size);
}

Result<std::optional<Elf64_Shdr>> ElfReader::find_section(std::string_view name) const {
  const auto all = sections();
  if (!all) return std::unexpected(all.error());
  if (all->empty()) return std::nullopt;
  const auto names = section_names(*all);
  if (!names) return std::unexpected(names.error());
  const auto found = std::ranges::find_if(*all, [&](const Elf64_Shdr& each) {
    if (each.sh_name >= names->size()) return false;
    const std::string_view from = names->substr(each.sh_name);
    return from.size() > name.size() && from.starts_with(name) && from[name.size()] == '\0';
  });
  if (found == all->end()) return std::nullopt;
  return *found;
}

Result<std::vector<Elf64_Sym>> ElfReader::symbols(const Elf64_Shdr& table) const {
  if (table.sh_entsize != sizeof(Elf64_Sym))
    return fail("the symbols of the ELF file have an unknown format");
  return table_at<Elf64_Sym>(elf_.get(), table.sh_offset, table.sh_size, ELF_T_SYM);
}

Result<std::vector<Elf64_Dyn>> ElfReader::dynamic() const {
  const auto all = segments();
  if (!all) return std::unexpected(all.error());
  const auto segment = std::ranges::find(*all, std::uint32_t{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (segment == all->end()) return {};
  return table_at<Elf64_Dyn>(elf_.get(), segment->p_offset, segment->p_filesz, ELF_T_DYN);
}

Result<std::string_view> ElfReader::bytes(std::uint64_t offset, std::uint64_t size) const {
  return chunk(elf_.get(), offset, size, ELF_T_BYTE);
}

std::string_view ElfReader::text_at(std::string_view names, std::uint64_t offset) {
  if (offset >= names.size()) return "";
  const std::size_t end = names.find('\0', offset);
  return end == std::string_view::npos ? "" : names.substr(offset, end - offset);
}

}  // namespace stab
