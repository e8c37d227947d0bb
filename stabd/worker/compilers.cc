// SPDX-License-Identifier: MIT
#include "stabd/worker/compilers.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace stab::worker {
namespace {

constexpr std::size_t most_comment = 64U << 10;
constexpr std::size_t most_makers = 8;
constexpr std::size_t longest_maker = 100;

bool read_at(int fd, std::uint64_t offset, void* to, std::size_t size) {
  return offset <= INT64_MAX &&
         pread(fd, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

bool is_known(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shstrndx < header.e_shnum;
}

// The end of the section's bytes may lie behind what is wanted.
std::string content_of(int fd, const Elf64_Shdr& section, std::size_t most) {
  std::string content(std::min<std::uint64_t>(section.sh_size, most), '\0');
  if (!read_at(fd, section.sh_offset, content.data(), content.size())) content.clear();
  return content;
}

bool has_name(int fd, const Elf64_Shdr& names, const Elf64_Shdr& section, std::string_view name) {
  std::array<char, 16> found{};
  return section.sh_name < names.sh_size &&
         read_at(fd, names.sh_offset + section.sh_name, found.data(), name.size() + 1) &&
         std::string_view(found.data(), name.size() + 1) ==
             std::string_view(name.data(), name.size() + 1);
}

std::string comment_of(int fd) {
  Elf64_Ehdr header{};
  if (!read_at(fd, 0, &header, sizeof header) || !is_known(header)) return "";
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!read_at(fd, header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr)))
    return "";
  constexpr std::string_view wanted = ".comment";  // a literal: its 0 follows
  for (const Elf64_Shdr& section : sections)
    if (section.sh_type == SHT_PROGBITS &&
        has_name(fd, sections[header.e_shstrndx], section, wanted))
      return content_of(fd, section, most_comment);
  return "";
}

}  // namespace

std::string compilers_of(const std::string& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return "";
  const std::string comment = comment_of(fd.get());
  std::vector<std::string> makers;
  for (std::size_t at = 0; at < comment.size() && makers.size() < most_makers;) {
    const std::size_t end = std::min(comment.find('\0', at), comment.size());
    std::string_view said = std::string_view(comment).substr(at, end - at);
    constexpr std::string_view linker = "Linker: ";
    if (said.starts_with(linker)) said.remove_prefix(linker.size());
    std::string maker = one_line(said, longest_maker);
    if (!maker.empty() && std::ranges::find(makers, maker) == makers.end())
      makers.push_back(std::move(maker));
    at = end + 1;
  }
  std::string text;
  for (const std::string& maker : makers) text += (text.empty() ? "" : ", ") + maker;
  return text;
}

}  // namespace stab::worker
